"""How bodies with files arrive: many at the same time, in chunks, not as announced, or not at all."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.faults import processes
from tests.load.slow_peers import rest_of
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.posted_files import (
    BOUNDARY,
    MIB,
    PDF,
    body_of,
    file_field,
    files_of_form,
    pdf,
)
from tests.support.tenants import make_tenant, text_field

pytestmark = pytest.mark.on_sqlite
UPLOADS = 24
AS_ITS_UNIT = {"MALLOC_ARENA_MAX": "2"}
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
    """Return how many unnamed files of bodies the web role has open."""
    found = 0
    for pid in processes.tree(service.processes["web"].popen.pid):
        with suppress(OSError):  # it ended, or closed the file, meanwhile
            names = [os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()]  # noqa: PTH115  # no path
            found += sum("(deleted)" in name and "/wgunicorn-" not in name for name in names)
    return found


def upload_together(service: Application, form_id: str, size: int) -> int:
    """Upload files of `size` bytes at the same time and return the most bytes that the web role took meanwhile."""
    body, ended = body_of([("cv", "cv.pdf", pdf(size))]), threading.Event()
    web = service.processes["web"].popen.pid
    seen = [processes.memory(web)]

    def upload(_number: int) -> bytes:
        answer = b"HTTP/1.1 503"
        while answer == b"HTTP/1.1 503":  # half of the threads read bodies with files
            with connected(service.port) as connection:
                connection.sendall(head_of(form_id, len(body)) + body)
                answer = connection.recv(12)
        return answer

    def watch() -> None:
        while not ended.wait(0.05):
            seen.append(processes.memory(web))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(UPLOADS) as pool:
            answers = list(pool.map(upload, range(UPLOADS)))
    finally:
        ended.set()
        watcher.join()
    assert answers == [b"HTTP/1.1 201"] * UPLOADS
    return max(seen)


def test_uploads__many_at_once__cost_no_memory(start_service: Callable[..., Application]) -> None:
    service, form_id = (
        start_service(**AS_ITS_UNIT, BURST_PER_FORM="1000/m", BURST_PER_ADDRESS_AND_FORM="1000/m"),
        a_form(),
    )
    upload_together(service, form_id, MIB)  # loads every module, and each thread opens its connection to the database
    before = processes.memory(service.processes["web"].popen.pid)

    assert upload_together(service, form_id, 8 * MIB) - before < MOST_MORE_MEMORY
    eventually(lambda: spooled_files(service) == 0, because="the files are free")


def test_body__refused_and_then_silent__is_no_next_request(service: Application) -> None:
    head = "POST /api/submit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n"
    with connected(service.port) as connection:
        connection.sendall(head.encode() + b"{")
        answers = rest_of(connection)  # to the end of the connection
    assert answers.startswith(b"HTTP/1.1 401")
    assert answers.count(b"HTTP/1.1") == 1


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
        connection.sendall(head_of(form_id, len(body)) + body[:-10_000])
        connection.shutdown(socket.SHUT_WR)
        assert rest_of(connection).startswith(b"HTTP/1.1 400")
    assert files_of_form(form_id) == []


def test_chunked_body__with_a_file__is_stored(service: Application) -> None:
    form_id = a_form()
    body = body_of([("cv", "cv.pdf", pdf(400_000))])
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:300_000], body[300_000:], b""))

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, None) + chunks)
        assert connection.recv(12) == b"HTTP/1.1 201"
    assert [row.size for row in files_of_form(form_id)] == [400_000]


def test_next_request__of_a_connection_after_a_file__is_answered(service: Application) -> None:
    form_id = a_form()
    body = body_of([("cv", "cv.pdf", pdf(700_000))])
    small = body_of([("cv", "cv.pdf", PDF)])

    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, len(body)) + body + head_of(form_id, len(small)) + small)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answers = rest_of(connection)

    assert [answers.count(status) for status in (b"HTTP/1.1 201", b"HTTP/1.1 200")] == [2, 1]


@pytest.mark.parametrize("path", ["/api/submit", "/api/forms"])
def test_large_body__of_a_path_without_files__is_413(path: str, api: Client) -> None:
    answer = api.post(path, make_tenant().key, data=b"x" * MIB, headers={"Content-Type": "application/json"})

    assert (answer.status, answer.json()["error"]) == (413, "payload_too_large")


def test_body__larger_than_all_files_together__is_413(service: Application) -> None:
    form_id = a_form()
    with connected(service.port) as connection:
        connection.sendall(head_of(form_id, 300 * MIB) + b"-" * (2 * MIB))
        assert rest_of(connection).startswith(b"HTTP/1.1 413")
