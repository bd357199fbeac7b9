"""
An export reads in one long transaction. A client that asks for one and reads none of it, or not to the end, must not
leave that transaction behind in the thread that served it: later requests there would fail one by one.
"""

import socket
from collections.abc import Callable
from contextlib import closing

from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.rows import fill
from tests.support.tenants import Tenant, make_tenant

EXPORTS = 24  # three for each thread of a web process
REQUESTS = 100  # a dozen for each thread
EXPORT = "/api/submissions/export?format=ndjson"


def statuses_afterwards(port: int, tenant: Tenant) -> set[int]:
    with Client(port) as api:
        return {api.get("/api/forms", tenant.key).status for _ in range(REQUESTS)}


def test_export__asked_for_with_head__leaves_every_thread_in_order(start_service: Callable[..., Application]) -> None:
    port = start_service().port
    tenant = make_tenant()
    with Client(port) as api:
        answers = {api.request("HEAD", EXPORT, tenant.key).status for _ in range(EXPORTS)}
    assert answers == {200}
    assert statuses_afterwards(port, tenant) == {200}


def test_export__reader_gone_in_the_middle__leaves_every_thread_in_order(
    start_service: Callable[..., Application],
) -> None:
    port = start_service().port
    tenant = make_tenant()
    fill(tenant, megabytes=15)
    request = f"GET {EXPORT} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-access-key: {tenant.key}\r\n\r\n"

    def leave_in_the_middle() -> bool:
        with closing(socket.create_connection(("127.0.0.1", port), 30)) as connection:
            connection.sendall(request.encode())
            return connection.recv(1000).startswith(b"HTTP/1.1 200")  # 429: the last ones have not noticed yet

    for _ in range(EXPORTS):
        eventually(leave_in_the_middle, 30, "an export starts")
    assert statuses_afterwards(port, tenant) == {200}
