"""Large exports: streamed in constant memory, all from one moment (docs/contract.md 5.26)."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults import processes
from tests.load.cpu import tree_of
from tests.load.memory import have_all_exported, proportional_bytes
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.rows import put_many
from tests.support.submitting import submit_and_get_record
from tests.support.tenants import Tenant, make_tenant

ROWS = 10_000
VALUE = "x" * 8192  # so the export is some 82 MB: far more than any buffer on the way
MAX_GROWTH = 40 * 1024 * 1024  # bytes, with about 20 that a fork of the service does not share


@pytest.fixture(scope="module")
def large() -> tuple[Tenant, str]:
    """Return an organization with 10,000 submissions of 8 KB to one form. Tests do not change them."""
    tenant = make_tenant()
    form = tenant.form()
    put_many(tenant, form, ({"n": str(n), "text": VALUE} for n in range(ROWS)))
    return tenant, form


class SlowReader:
    """One GET over its own socket, with a small buffer, read as fast as the test says."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.received = bytearray()

    def has_begun(self) -> bool:
        """Return whether a part of the answer has arrived."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def read(self, until: int) -> None:
        while len(self.received) < until and (part := self._connection.recv(65_536)):
            self.received += part

    def body(self) -> bytes:
        """Return the body without HTTP's chunks, after reading the rest."""
        self.read(2**63)
        start = self.received.index(b"\r\n\r\n") + 4
        head = bytes(self.received[:start])
        assert head.startswith(b"HTTP/1.1 200"), head
        assert b"transfer-encoding: chunked" in head.lower(), head
        parts: list[bytes] = []
        while True:
            end = self.received.index(b"\r\n", start)
            size = int(self.received[start:end], 16)
            if not size:
                return b"".join(parts)
            parts.append(bytes(self.received[end + 2 : end + 2 + size]))
            start = end + 2 + size + 2


@contextmanager
def slow_get(api: Client, path: str, key: str) -> Iterator[SlowReader]:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.settimeout(60)
        connection.bind((api.address, 0))
        connection.connect(("127.0.0.1", api.port))
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {key}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        yield SlowReader(connection)


def memory(service: Application) -> int:
    """Return the bytes of `serve` and its children, exports among them; not of the deliverer, which reads rows too."""
    return sum(
        proportional_bytes(pid)
        for pid in tree_of(service.processes["web"].popen.pid)
        if " deliver " not in processes.command(pid)
    )


def start_fork_servers(service: Application, path: str) -> None:
    """Export from every web process, which then has its fork server, with all modules."""
    tenant = make_tenant()

    def have_exported() -> bool:
        with Client(service.port) as api:  # over another connection, which any of them may accept
            assert api.get(path, tenant.key).status == 200
        return have_all_exported(service.processes["web"].popen.pid)

    eventually(have_exported)


@pytest.mark.parametrize("chosen", ["csv", "json", "ndjson"])
def test_export__82_megabytes__is_streamed_in_constant_memory(
    service: Application, api: Client, large: tuple[Tenant, str], chosen: str
) -> None:
    tenant, form = large
    path = f"/api/submissions/export?formId={form}&format={chosen}"
    start_fork_servers(service, f"/api/submissions/export?format={chosen}")
    before, highest = memory(service), 0
    with slow_get(api, path, tenant.key) as reader:
        for step in range(1, 12):  # a slow reader must not fill the service's memory
            reader.read(step * 7_000_000)
            highest = max(highest, memory(service))
        body = reader.body()
    assert highest - before < MAX_GROWTH, f"{(highest - before) / 1e6:.0f} MB more"
    assert body.count(VALUE.encode()) == ROWS
    assert len(body) > 80_000_000


def test_export__first_bytes__arrive_before_the_rest_is_made(api: Client, large: tuple[Tenant, str]) -> None:
    tenant, form = large
    with slow_get(api, f"/api/submissions/export?formId={form}&format=ndjson", tenant.key) as reader:
        reader.read(1)
        arrived = bytes(reader.received)
        reader.body()
    assert arrived.startswith(b"HTTP/1.1 200")
    assert len(arrived) < 100_000


@pytest.mark.parametrize("chosen", ["csv", "json"])
def test_export__changes_while_it_is_read__do_not_show(api: Client, chosen: str) -> None:
    tenant = make_tenant()
    form = tenant.form()
    put_many(tenant, form, ({"n": str(n), "text": VALUE} for n in range(2_000)))
    newest = api.get(f"/api/submissions?formId={form}&limit=3", tenant.key).json()["data"]
    with slow_get(api, f"/api/submissions/export?formId={form}&format={chosen}", tenant.key) as reader:
        reader.read(1)
        submit_and_get_record(api, tenant, form, {"n": "late", "new name": VALUE})
        assert api.delete(f"/api/submissions/{newest[0]['id']}", tenant.key).status == 200
        assert api.patch(f"/api/submissions/{newest[1]['id']}", tenant.key, json={"spam": True}).status == 200
        body = reader.body()
    assert (body.count(VALUE.encode()), b"late" in body, b"new name" in body) == (2_000, False, False)
    assert all(row["id"].encode() in body for row in newest)
    after = json.loads(api.get(f"/api/submissions/export?formId={form}&format=json", tenant.key).body)
    assert (len(after), after[-1]["data"]["n"]) == (1_999, "late")


def test_export__rows_arrive_while_names_are_collected__rows_and_columns_agree(api: Client) -> None:
    tenant = make_tenant()
    form = tenant.form()
    put_many(tenant, form, ({"n": str(n), "text": "x" * 500} for n in range(8_000)))
    made: list[str] = []
    with slow_get(api, f"/api/submissions/export?formId={form}", tenant.key) as reader:
        while not reader.has_begun() and len(made) < 400:  # 500 names would go to `_more`
            made.append(submit_and_get_record(api, tenant, form, {f"late{len(made)}": "1"})["id"])
        body = reader.body().decode()
    columns = body.partition("\r\n")[0].split(",")
    told = [place for place, pk in enumerate(made) if pk in body]
    assert [name for name in columns if name.startswith("late")] == [f"late{place}" for place in told]
    assert made
