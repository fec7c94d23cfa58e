"""One page for the person at this machine: 127.0.0.1, a random token, nothing from elsewhere."""

import hmac
import json
import secrets
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from wakesleep.errors import UsageError, WakesleepError
from wakesleep.explore.questions import Question, answer
from wakesleep.explore.subjects import Subject, about

ADDRESS = "127.0.0.1"
FILES = {
    "": ("explore.html", "text/html; charset=utf-8"),
    "explore.css": ("explore.css", "text/css; charset=utf-8"),
    "explore.js": ("explore.js", "text/javascript; charset=utf-8"),
    "painting.js": ("painting.js", "text/javascript; charset=utf-8"),
}
LARGEST_QUESTION = 1_000_000
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class LocalServer(ThreadingHTTPServer):
    """Answers those who know its token, under its own address alone."""

    daemon_threads = True

    def __init__(self, subjects: Sequence[Subject], port: int = 0):
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror}): leave --port out to have a free "
                "one chosen"
            ) from None
        self.subjects = tuple(subjects)
        self.token = secrets.token_urlsafe(24)
        # One question at a time: each uses all cores.
        self.busy = threading.Lock()

    @property
    def url(self) -> str:
        """Where to look."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def is_own_host(self, host: str | None) -> bool:
        """Whether a request named this server, and not a name that somebody led here."""
        return host in {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}

    def answers(self, words: Any) -> dict[str, Any]:
        """What every run says to a question."""
        question = Question.parse(self.subjects[0], words)
        with self.busy:
            return {"machines": [answer(subject, question) for subject in self.subjects]}


class _Handler(BaseHTTPRequestHandler):
    server: LocalServer
    server_version = "wakesleep"
    sys_version = ""

    def do_GET(self) -> None:
        """The page, its files, and what it is about."""
        name = self._asked_for()
        if name == "about.json":
            self._send_json(HTTPStatus.OK, about(self.server.subjects))
        elif name in FILES:
            file, kind = FILES[name]
            self._send(
                HTTPStatus.OK, kind, (files("wakesleep.explore") / "static" / file).read_bytes()
            )
        elif name is not None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing of this name")

    def do_POST(self) -> None:
        """A question."""
        name = self._asked_for()
        if name is None:
            return
        if name != "ask":
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing of this name")
            return
        try:
            self._send_json(HTTPStatus.OK, self.server.answers(self._question()))
        except WakesleepError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))

    def _asked_for(self) -> str | None:
        """The name after the token; None where the request was refused."""
        origin = self.headers.get("Origin")
        own = self.server.is_own_host(self.headers.get("Host"))
        if not own or (origin and not self.server.is_own_host(origin.removeprefix("http://"))):
            self._refuse(HTTPStatus.FORBIDDEN, "this page is for the machine it runs on alone")
            return None
        token, _, name = self.path.removeprefix("/").partition("?")[0].partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "the address lacks the token that was printed")
            return None
        return name

    def _question(self) -> Any:
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isdecimal() and len(length) < 10 else 0
        # Read what is refused too: the connection would break before its answer is read.
        body = self.rfile.read(min(size, 2 * LARGEST_QUESTION))
        if not 0 < size <= LARGEST_QUESTION:
            raise UsageError(f"a question has from 1 to {LARGEST_QUESTION} bytes")
        if self.headers.get_content_type() != "application/json":
            raise UsageError("a question is JSON")
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise UsageError("a question is JSON") from None

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send_json(status, {"error": why})

    def _send_json(self, status: HTTPStatus, values: Any) -> None:
        self._send(status, "application/json", json.dumps(values).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the terminal is the person's."""
