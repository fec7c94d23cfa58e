"""A real HTTP server on loopback, whose paths say how it behaves: /<manner>/<file>."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves `files` by name and remembers what it was asked for."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.asked: list[tuple[str, str | None]] = []
        self.closing = threading.Event()

    def at(self, manner: str) -> str:
        """The address of a mirror that behaves in this manner."""
        return f"http://127.0.0.1:{self.server_port}/{manner}"

    def handle_error(self, request, client_address):
        """Clients that give up are what these tests are about."""


class Handler(BaseHTTPRequestHandler):
    """Each manner is a method."""

    server: Server

    def log_message(self, *arguments):
        """Not to the terminal."""

    def do_GET(self):
        manner, name = self.path.lstrip("/").split("/", 1)
        self.server.asked.append((manner, self.headers.get("Range")))
        getattr(self, manner)(self.server.files[name])

    def begin(self, status=200, **headers):
        self.send_response(status)
        for field, value in headers.items():
            self.send_header(field.replace("_", "-"), str(value))
        self.end_headers()

    def start(self, whole: bytes) -> int:
        asked = self.headers.get("Range")
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0

    def part(self, whole: bytes, sent: bytes):
        """Headers of what was asked for, and some of its bytes."""
        start = self.start(whole)
        if start >= len(whole):
            return self.begin(416, Content_Length=0)
        headers = {"Content_Length": len(whole) - start}
        if start:
            headers["Content_Range"] = f"bytes {start}-{len(whole) - 1}/{len(whole)}"
        self.begin(206 if start else 200, **headers)
        return self.wfile.write(sent)

    def good(self, whole):
        self.part(whole, whole[self.start(whole) :])

    def truncates(self, whole):
        """A third of the file per connection."""
        start = self.start(whole)
        self.part(whole, whole[start : start + len(whole) // 3 + 1])

    def truncates_and_starts_anew(self, whole):
        self.begin(Content_Length=len(whole))
        self.wfile.write(whole[: len(whole) // 3])

    def stalls(self, whole):
        """A tenth of the file, and then silence."""
        start = self.start(whole)
        self.part(whole, whole[start : start + len(whole) // 10])
        self.wfile.flush()
        self.server.closing.wait(20)

    def silent(self, whole):
        self.server.closing.wait(20)

    def drips(self, whole):
        """A byte now and then: never silent, never done."""
        self.part(whole, b"")
        for i in range(200):
            self.wfile.write(whole[i : i + 1])
            self.wfile.flush()
            if self.server.closing.wait(0.05):
                return

    def other_bytes(self, whole):
        """The right length, another content, with and without a range."""
        wrong = bytes(byte ^ 1 for byte in whole)
        self.part(whole, wrong[self.start(whole) :])

    def short_length(self, whole):
        """Says that the file is shorter than it is."""
        self.begin(Content_Length=len(whole) // 2)
        self.wfile.write(whole)

    def huge_length(self, whole):
        self.begin(Content_Length=1 << 50)

    def other_range(self, whole):
        """Answers a range with the file's beginning."""
        start = self.start(whole)
        if not start:
            return self.truncates(whole)
        self.begin(206, Content_Length=10, Content_Range=f"bytes 0-9/{len(whole)}")
        return self.wfile.write(whole[:10])

    def page(self, whole):
        """A friendly page in place of the file, as captive portals give."""
        self.begin(Content_Type="text/html")
        self.wfile.write(b"<html>Please log in</html>")

    def absent(self, whole):
        self.begin(404, Content_Length=0)

    def broken(self, whole):
        self.begin(503, Content_Length=0)

    def redirects(self, whole):
        self.begin(302, Location=f"/good/{self.path.split('/')[-1]}", Content_Length=0)

    def redirects_to_a_file(self, whole):
        self.begin(302, Location="file:///etc/hostname", Content_Length=0)

    def redirects_to_ftp(self, whole):
        self.begin(302, Location="ftp://127.0.0.1/dna.npz", Content_Length=0)

    def not_http(self, whole):
        self.wfile.write(b"220 this is no web server\r\n")


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Server]:
    """The server, for the time of a test."""
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
