"""`fieldpost listen` with a stream that is cut, and a server that messages are forwarded to."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fieldpost.cli.event_stream import Event, parse

SOURCE = Path(__file__).parents[1] / "src"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
READY = f'event: ready\ndata: {{"secret": "{SECRET}", "mode": "test"}}\n\n'


def message(number: int) -> str:
    body = json.dumps({"type": "submission.created", "data": {"id": f"sub_{number}", "data": {"name": "Grüße"}}})
    headers = {"webhook-id": f"msg_{number}", "webhook-timestamp": "1", "webhook-signature": "v1,a"}
    data = json.dumps({"headers": headers, "body": body})
    return f"event: message\nid: sub_{number}\ndata: {data}\n\n"


def test_parse__any_parts_of_a_stream__gives_its_events() -> None:
    stream = (": hello\r\n\r\n:\n\n" + READY + "id: sub_9\n\n" + message(1) + "event: message\ndata: {\n").encode()

    for size in (1, 7, len(stream)):
        found = list(parse(stream[start : start + size] for start in range(0, len(stream), size)))
        assert [(event.name, event.id) for event in found] == [
            ("ready", ""),
            ("message", "sub_9"),
            ("message", "sub_1"),
        ]
        assert found[0] == Event("ready", {"secret": SECRET, "mode": "test"}, "")
        assert json.loads(found[2].data["body"])["data"]["data"] == {"name": "Grüße"}


class Server:
    """A service with `streams`, each cut at its end, and an endpoint that answers `status`."""

    def __init__(self) -> None:
        self.streams: list[str | int] = []
        self.opened: list[tuple[str, str | None, str | None]] = []
        self.forwarded: list[tuple[str, dict[str, str], bytes]] = []
        self.mode, self.status, self.is_over = "test", 200, threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/api/me":
                    me = {"key": {"mode": server.mode}, "eventsUrl": server.url}
                    self.answer(200, json.dumps({"success": True, "data": me, "message": "."}).encode())
                    return
                server.opened.append((self.path, self.headers["x-access-key"], self.headers["Last-Event-ID"]))
                stream = server.streams.pop(0) if server.streams else ""
                if isinstance(stream, int):
                    self.answer(stream, b'{"success": false, "error": "invalid_access_key", "message": "Invalid"}')
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(stream.encode())
                self.wfile.flush()
                if not server.streams:
                    server.is_over.wait(30)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.forwarded.append((self.path, {name.lower(): text for name, text in self.headers.items()}, body))
                self.answer(server.status, b"")

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Print nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    threading.Thread(target=found.server.serve_forever, args=(0.01,), daemon=True).start()
    yield found
    found.is_over.set()
    found.server.shutdown()
    found.server.server_close()


@contextmanager
def listening(server: Server, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "HOME": "/nowhere"}
    started = subprocess.Popen(
        [sys.executable, "-m", "fieldpost", "listen", *arguments],
        env={**environment, "FIELDPOST_URL": server.url, "FIELDPOST_KEY": "fp_test_a"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def line(started: subprocess.Popen[bytes]) -> Any:
    assert started.stdout is not None
    return json.loads(started.stdout.readline())


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_listen__stream_that_is_cut__goes_on_from_its_last_event(ending: signal.Signals, server: Server) -> None:
    server.streams = [READY + message(1), READY + message(2) + message(3)]

    with listening(server) as started:
        shown = [line(started) for _ in range(4)]
        started.send_signal(ending)
        assert started.wait(30) == 0

    assert shown[0] == {"type": "ready", "secret": SECRET, "mode": "test", "forwardTo": None}
    assert [one["submissionId"] for one in shown[1:]] == ["sub_1", "sub_2", "sub_3"]
    assert shown[1] == {
        "type": "submission.created",
        "id": "msg_1",
        "submissionId": "sub_1",
        "body": {"type": "submission.created", "data": {"id": "sub_1", "data": {"name": "Grüße"}}},
        "error": None,
    }
    path = "/events?mode=listen"
    assert server.opened[:2] == [(path, "fp_test_a", None), (path, "fp_test_a", "sub_1")]


def test_listen__with_a_server__forwards_what_was_signed(server: Server) -> None:
    server.streams, server.status = [READY + message(1)], 500
    target = f"{server.url}/hook?a=1"

    with listening(server, "--forward-to", target) as started:
        assert line(started)["forwardTo"] == target
        shown = line(started)

    assert shown == {
        "type": "submission.created",
        "id": "msg_1",
        "submissionId": "sub_1",
        "status": 500,
        "error": None,
    }
    [(path, headers, body)] = server.forwarded
    assert path == "/hook?a=1"
    assert (headers["webhook-id"], headers["webhook-signature"]) == ("msg_1", "v1,a")
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["data"]["data"] == {"name": "Grüße"}


def test_listen__server_that_is_away__is_shown(server: Server) -> None:
    server.streams = [READY + message(1)]

    with listening(server, "--forward-to", "http://127.0.0.1:1/hook") as started:
        line(started)
        shown = line(started)

    assert shown["status"] is None
    assert "cannot be reached" in shown["error"]


def test_listen__print_secret__prints_it_and_ends(server: Server) -> None:
    server.streams = [READY]

    with listening(server, "--print-secret") as started:
        assert line(started)["secret"] == SECRET
        assert started.wait(30) == 0


def test_listen__key_revoked__ends_with_an_error(server: Server) -> None:
    server.streams = [READY, 401]

    with listening(server) as started:
        line(started)
        out, err = started.communicate(timeout=30)

    assert (started.returncode, out) == (1, b"")
    assert json.loads(err)["error"]["code"] == "invalid_access_key"


def test_listen__live_key_without_live__is_refused(server: Server) -> None:
    server.mode = "live"

    with listening(server) as started:
        _, err = started.communicate(timeout=30)

    assert (started.returncode, json.loads(err)["error"]["code"]) == (1, "live_key")
    assert server.opened == []
