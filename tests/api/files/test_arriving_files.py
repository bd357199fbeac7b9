"""How bodies with files arrive: slowly, in turns, not as announced, or not at all (docs/adr/0032)."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.load.slow_peers import rest_of
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.hosted_posts import URLENCODED
from tests.support.posted_files import (
    BOUNDARY,
    MIB,
    PDF,
    Part,
    body_of,
    file_field,
    files_of_form,
    pdf,
    post_files,
)
from tests.support.tenants import make_tenant, text_field

pytestmark = pytest.mark.on_sqlite
UPLOADS = 24
MOST_MORE_MEMORY = 32 * MIB


def a_form() -> str:
    return make_tenant().form(fields=[text_field("name", required=False), file_field()])


def head_of(form_id: str, length: int | None, more: str = "") -> bytes:
    """Return the head of a post to a form; without a length its body is chunked."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST /f/{form_id} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n{more}"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n{size}\r\n\r\n"
    ).encode()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        yield connection


def spooled_files(service: Application) -> int:
    """Return how many unnamed files the web role has open."""
    group, found = service.processes["web"].popen.pid, 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(process.name)) == group:
                found += sum("(deleted)" in os.readlink(one) for one in (process / "fd").iterdir())  # noqa: PTH115  # no path
        except OSError:  # it ended, or closed the file, meanwhile
            continue
    return found


def resident_bytes(service: Application) -> int:
    """Return the memory of the web role's processes, in RAM now."""
    group, total = service.processes["web"].popen.pid, 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if os.getpgid(int(status.parent.name)) == group:
                total += int(status.read_text().partition("VmRSS:")[2].split()[0]) * 1024
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return total


def test_uploads__many_at_once__cost_no_memory(start_service: Callable[..., Application]) -> None:
    service, form_id = start_service(BURST_PER_FORM="1000/m", BURST_PER_ADDRESS_AND_FORM="1000/m"), a_form()
    body, ended, highest = body_of([("cv", "cv.pdf", pdf(8 * MIB))]), threading.Event(), 0
    with Client(service.port) as api:
        assert post_files(api, form_id, [("cv", "cv.pdf", pdf(8 * MIB))]).status == 201  # loads every module
    before = resident_bytes(service)

    def upload(_number: int) -> bytes:
        with connected(service.port) as connection:
            connection.sendall(head_of(form_id, len(body)) + body)
            return connection.recv(12)

    def watch() -> None:
        nonlocal highest
        while not ended.wait(0.05):
            highest = max(highest, resident_bytes(service))

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(UPLOADS) as pool:
        answers = list(pool.map(upload, range(UPLOADS)))
    ended.set()
    watcher.join()

    assert answers == [b"HTTP/1.1 201"] * UPLOADS
    assert highest - before < MOST_MORE_MEMORY
    eventually(lambda: spooled_files(service) == 0, because="the files are free")


def test_slow_upload__that_keeps_a_pace__is_stored__and_one_without_is_408(
    shared_service: Callable[..., Application],
) -> None:
    service, form_id = shared_service(BODY_SECONDS="2", BODY_BYTES_PER_SECOND="100000"), a_form()
    body, pause = body_of([("cv", "cv.pdf", pdf(600_000))]), threading.Event()

    with connected(service.port) as steady, connected(service.port) as silent:
        for connection in (steady, silent):
            connection.sendall(head_of(form_id, len(body)) + body[:10_000])
        for start in range(10_000, len(body), 40_000):  # 200,000 bytes a second, for three seconds
            pause.wait(0.2)
            steady.sendall(body[start : start + 40_000])
        assert steady.recv(12) == b"HTTP/1.1 201"
        assert rest_of(silent).startswith(b"HTTP/1.1 408")
    eventually(lambda: spooled_files(service) == 0, because="the files are free")


def test_slow_uploads__more_than_turns_and_threads__hold_nobody_up(start_service: Callable[..., Application]) -> None:
    service, form_id = start_service(), a_form()
    tenant = make_tenant()
    with Client(service.port) as api:
        slow = [socket.create_connection(("127.0.0.1", service.port), 30) for _ in range(30)]
        for number, connection in enumerate(slow):
            chunks = b"5\r\nhello" if number % 2 else b""  # the end of a chunk is missing too
            connection.sendall(head_of(form_id, None if number % 2 else 5 * MIB) + chunks)
        for _ in range(10):
            assert api.post("/api/submit", tenant.key, json={"a": "1"}).status == 201
        assert post_files(api, form_id, [("cv", "cv.pdf", pdf(3 * MIB))]).status == 201
        for connection in slow:
            connection.close()
    # A client that stays has 30 s.
    eventually(lambda: spooled_files(service) == 0, 15, "the files of clients that left are free")


def test_slow_uploads__of_one_client_with_many_connections__leave_room_for_others(
    start_service: Callable[..., Application],
) -> None:
    service, form_id = start_service(TRUSTED_PROXY_COUNT="1"), a_form()
    slow = [socket.create_connection(("127.0.0.1", service.port), 30) for _ in range(520)]
    for connection in slow:
        connection.sendall(head_of(form_id, 5 * MIB, "X-Forwarded-For: 192.0.2.1\r\n") + b"x")
    eventually(lambda: spooled_files(service) == 100, because="the client has as many as it may")
    with Client(service.port) as api:
        parts: list[Part] = [("cv", "cv.pdf", pdf(3 * MIB))]
        answers = [post_files(api, form_id, parts, X_Forwarded_For=f"192.0.2.{end}").status for end in (1, 2)]
    for connection in slow:
        connection.close()

    assert answers == [503, 201]


def test_chunked_dribble__behind_the_bound_of_memory__holds_no_turn(start_service: Callable[..., Application]) -> None:
    service, form_id = start_service(), a_form()
    body = body_of([("cv", "cv.pdf", pdf(400_000))])
    first = b"%x\r\n%b\r\n" % (300_000, body[:300_000])
    rest = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body) - 300_000, body[300_000:])
    slow = [socket.create_connection(("127.0.0.1", service.port), 30) for _ in range(10)]
    for connection in slow:
        connection.sendall(head_of(form_id, None) + first + rest[:1])  # a part of a chunk's size
    eventually(lambda: spooled_files(service) == len(slow), because="all are in files")
    with Client(service.port) as api:
        assert post_files(api, form_id, [("cv", "cv.pdf", pdf(3 * MIB))]).status == 201
    for connection in slow:
        connection.sendall(rest[1:])
        assert connection.recv(12) == b"HTTP/1.1 201"
        connection.close()


def test_body__longer_than_its_content_length__ends_where_it_said(service: Application) -> None:
    form_id = a_form()
    body = body_of([("cv", "cv.pdf", pdf(300_000))])

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, len(body)) + body + b"more than was said\r\n\r\n")
        assert b"HTTP/1.1 400 Bad Request" in rest_of(connection)  # the rest is no request
    eventually(lambda: spooled_files(service) == 0, because="the file is free")
    assert {row.size for row in files_of_form(form_id)} <= {300_000}


def test_body__shorter_than_its_content_length__is_not_stored(service: Application) -> None:
    form_id = a_form()
    body = body_of([("cv", "cv.pdf", pdf(400_000))])

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, len(body) + 10) + body)
        connection.shutdown(socket.SHUT_WR)
        assert rest_of(connection) == b""
    assert files_of_form(form_id) == []


def test_next_request__of_a_connection_after_a_file__is_answered(service: Application) -> None:
    form_id = a_form()
    body = body_of([("cv", "cv.pdf", pdf(700_000))])
    small = body_of([("cv", "cv.pdf", PDF)])

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, len(body)) + body + head_of(form_id, len(small)) + small)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answers = rest_of(connection)

    assert [answers.count(status) for status in (b"HTTP/1.1 201", b"HTTP/1.1 200")] == [2, 1]


def test_client_that_asks_first__is_told_to_go_on__only_where_its_body_is_wanted(service: Application) -> None:
    form_id, closed = a_form(), make_tenant().form(published=False, fields=[file_field()])
    body = body_of([("cv", "cv.pdf", pdf(700_000))])

    with connected(service.port) as wanted, connected(service.port) as unwanted:
        wanted.sendall(head_of(form_id, len(body), "Expect: 100-continue\r\n"))
        assert wanted.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wanted.sendall(body)
        assert wanted.recv(12) == b"HTTP/1.1 201"
        unwanted.sendall(head_of(closed, len(body), "Expect: 100-continue\r\n"))
        assert unwanted.recv(12) == b"HTTP/1.1 403"


def test_large_body__over_the_burst_limit__is_refused_before_it_is_read(
    start_service: Callable[..., Application],
) -> None:
    service, form_id = start_service(BURST_PER_FORM="1/h"), a_form()
    with Client(service.port) as api:
        assert api.post(f"/f/{form_id}", data="name=Ada", headers=URLENCODED).status == 303

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, 200 * MIB) + b"-" * 100_000)
        assert rest_of(connection).startswith(b"HTTP/1.1 429")
    assert spooled_files(service) == 0


def test_large_body__to_uploads_with_a_publishable_key__is_refused_before_it_is_read(service: Application) -> None:
    head = head_of("x", 200 * MIB, f"X-Access-Key: {make_tenant().publishable}\r\n").partition(b" ")[2]

    with connected(service.port) as connection:
        connection.sendall(b"POST " + head.replace(b"/f/x", b"/api/uploads") + b"-" * 100_000)
        assert rest_of(connection).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("path", ["/api/submit", "/api/forms"])
def test_large_body__of_a_path_without_files__is_413(path: str, api: Client) -> None:
    answer = api.post(path, make_tenant().key, data=b"x" * MIB, headers={"Content-Type": "application/json"})

    assert (answer.status, answer.json()["error"]) == (413, "payload_too_large")


def test_body__larger_than_all_files_together__is_413(service: Application) -> None:
    form_id = a_form()
    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, 300 * MIB) + b"-" * (2 * MIB))
        assert rest_of(connection).startswith(b"HTTP/1.1 413")
