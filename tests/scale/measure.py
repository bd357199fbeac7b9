"""
The inputs of docs/scaling.md: what one submission and its delivery cost in each role.

    python -m tests.scale.measure [SUBMISSIONS]

Processor time is of the processes, so other work on the machine does not change it much. One form, one webhook to a
receiver on this machine, 16 clients, two web processes, PostgreSQL, Redis, one `deliver`.
"""

import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis

from tests.faults.backing import Backing
from tests.load.cpu import tree_seconds
from tests.services.application import Application
from tests.services.client import Client, dumps
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.processes import Process
from tests.services.receivers import Receiver
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually

CLIENTS = 16
WARM_UP = 320
FINISHING_SECONDS = 300.0
BODY = {  # 328 bytes
    "name": "Ana Ruiz",
    "email": "person.12345@mail.example",
    "company": "Harbour Works",
    "order": "A-123456",
    "message": "Hello! I would like to know what the larger plan costs for a team of our size. Could you send me the "
    "brochure that was mentioned at the fair last week? My order was charged twice, please refund one of them.",
}
SIZES = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND relname ~ '^{}_'
"""


@dataclass
class Meter:
    """Sums of the moment, by their names."""

    pids: Mapping[str, int]
    database_url: str
    redis_url: str

    def read(self) -> dict[str, float]:
        found = {f"{name}: ms of processor time": 1000 * tree_seconds(pid) for name, pid in self.pids.items()}
        with psycopg.connect(self.database_url, autocommit=True) as database:
            place = database.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
            found["PostgreSQL: bytes of log"] = place[0] if place else 0
            for app in ("submissions", "webhooks"):
                size = database.execute(SIZES.format(app)).fetchone()
                found[f"PostgreSQL: bytes on disk, {app}"] = size[0] if size else 0
        with redis.Redis.from_url(self.redis_url) as server:
            info = server.info()
        found["Redis: commands"] = info["total_commands_processed"]
        found["Redis: bytes in and out"] = info["total_net_input_bytes"] + info["total_net_output_bytes"]
        return found


def request_for(form_id: str, key: str) -> bytes:
    """Return the bytes of a submission as a program sends it."""
    body = dumps(BODY)
    lines = [
        f"POST /api/submit?formId={form_id} HTTP/1.1",
        "Host: localhost",
        f"X-Access-Key: {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "User-Agent: python-requests/2.32",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def show(title: str, before: Mapping[str, float], after: Mapping[str, float], count: int) -> None:
    print(f"\n{title}: {count:,}")
    for name, value in after.items():
        print(f"  {name:<40} {(value - before.get(name, value)) / count:10.3f}")


def main(count: int) -> None:
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldpost-measure-")))
        backing = stack.enter_context(Backing(directory))
        server = stack.enter_context(RedisServer())
        receiver = stack.enter_context(Receiver())
        url = backing.new_postgresql()
        environment = service_environment(
            data_dir=directory, backend=POSTGRESQL, database_url=url, redis_url=server.url, web_concurrency=2
        )
        options = {"backend": POSTGRESQL, "delivers": False, "streams": False, "migrates": False}
        running = stack.enter_context(Application(environment, directory / "service", **options))  # type: ignore[arg-type]  # by name
        running.manage("create_organization", "Measured", "--plan", "enterprise", "--owner", "owner@example.com")
        key = running.manage("create_key", "--organization", "measured", "--name", "Test").strip()
        with Client(running.port) as client:
            form = {"name": "Measured", "fields": [], "status": "published"}
            form_id = client.post("/api/forms", key, json=form).json()["data"]["id"]
            hook = {"formId": form_id, "url": receiver.url(), "events": ["submission.created"]}
            assert client.post("/api/webhooks", key, json=hook).status == 201

        def submit(number: int) -> None:
            with Client(running.port) as client:
                for _ in range(number):
                    assert client.post(f"/api/submit?formId={form_id}", key, json=BODY).status == 201

        def load(number: int) -> None:
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(submit, [number // CLIENTS] * CLIENTS))

        assert backing.postgresql.process
        assert server.process
        pids = {"web": running.processes["web"].popen.pid, "Redis": server.process.popen.pid}
        pids["PostgreSQL"] = backing.postgresql.process.popen.pid
        load(WARM_UP)
        meter = Meter(pids, url, server.url)
        before = meter.read()
        load(count)
        show("Submissions, not delivered yet", before, meter.read(), count)

        sent = request_for(form_id, key)
        with Client(running.port) as client:
            print(f"  {'bytes of a request, of its answer':<40} {len(sent):10} {len(client.raw(sent)):6}")

        before = meter.read()
        command = [sys.executable, "manage.py", "deliver"]
        deliver = Process("deliver", command, log=directory / "deliver.log", env=running.environment)
        stack.callback(deliver.stop)
        eventually(lambda: receiver.requests, 60, "the first delivery")
        before["deliver: ms of processor time"] = 1000 * tree_seconds(deliver.popen.pid)
        meter.pids = {**pids, "deliver": deliver.popen.pid}
        total = count + WARM_UP + 1
        eventually(lambda: len(receiver.requests) >= total, FINISHING_SECONDS, "everything is delivered", every=0.5)
        show("Deliveries, with dispatch", before, meter.read(), total)
        last = receiver.requests[-1]
        size = len(last.body) + sum(len(name) + len(value) + 4 for name, value in last.headers.items())
        print(f"  {'bytes of a request':<40} {size:10}")

        with Client(running.port) as client:
            before = meter.read()
            for _ in range(100):
                assert client.get(f"/api/submissions?formId={form_id}", key).status == 200
            show("Lists of 25", before, meter.read(), 100)
            before = meter.read()
            rows = client.get("/api/submissions/export?format=csv", key).text.count("\n")
            show("Rows of a CSV export", before, meter.read(), rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8_000)
