"""Who may ask the explorer, and what it sends."""

import contextlib
import http.client
import json
import threading
from urllib.parse import urlsplit

import pytest

from wakesleep.cli import main
from wakesleep.errors import UsageError
from wakesleep.explore import LocalServer, open_subjects


@pytest.fixture(scope="module")
def server(table_run):
    with LocalServer(open_subjects([table_run])) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, *, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with contextlib.closing(connection):
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return response.status, response.read(), response.headers


def test_it_listens_on_this_machine_alone_and_the_page_loads_nothing_from_elsewhere(server):
    assert server.server_address[0] == "127.0.0.1"
    path = urlsplit(server.url).path
    for name in ("", "explore.css", "explore.js", "painting.js", "about.json"):
        status, body, headers = ask(server, path + name)
        assert status == 200
        assert b"http" not in body.replace(b"http-equiv", b"")
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert len(json.loads(body)["columns"]) == 3


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 403),
        ("/wrong-token/", {}, 403),
        ("/%C3%A9/", {}, 403),
        ("TOKEN", {"Host": "evil.example"}, 403),
        ("TOKEN", {"Host": "127.0.0.1"}, 403),
        ("TOKEN", {"Origin": "http://evil.example"}, 403),
        ("TOKEN/../secret", {}, 404),
        ("TOKENsubjects.py", {}, 404),
    ],
)
def test_others_are_refused(server, path, headers, status):
    own = urlsplit(server.url).path
    found, body, _ = ask(server, path.replace("TOKEN", own), **headers)
    assert found == status
    assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("{}", "application/json"),
        ("{", "application/json"),
        ("[" * 20_000, "application/json"),
        ('{"given": {}, "seed": 0}', "text/plain"),
        (" " * 1_000_001, "application/json"),
    ],
    ids=["no question", "no JSON", "deep", "a form of another page", "too long"],
)
def test_a_wrong_question_is_answered_with_a_sentence(server, body, kind):
    path = urlsplit(server.url).path + "ask"
    status, answer, _ = ask(server, path, method="POST", body=body, Content_Type=kind)
    assert status == 400
    assert json.loads(answer)["error"]


def test_a_port_that_is_taken_is_said(server):
    with pytest.raises(UsageError, match=f"port {server.server_port} cannot be used"):
        LocalServer(server.subjects, server.server_port)


def test_the_command_says_where_to_look_and_ends_with_a_sentence(table_run, monkeypatch, capsys):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalServer, "serve_forever", interrupted)
    assert main(["explore", str(table_run)]) == 130
    printed = capsys.readouterr().out
    assert printed.startswith("look at http://127.0.0.1:")
    assert printed.endswith("stopped: the page answers no more\n")
