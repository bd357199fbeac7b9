"""
Submissions while 200 files of 8 MiB arrive at nginx at the same time (F26), compared with quiet rounds of the same run.

The files arrive over UPLOAD_SECONDS and end one after the other, each on its own connection, as 200 visitors with slow
lines send them. A 503 is sent again, as forms.js does.
"""

import json
import statistics
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.faults import processes
from tests.faults.case import Run, fault
from tests.faults.world import World
from tests.load.client import Load, drive, post_bytes
from tests.load.request import BODY
from tests.load.uploads import uploading
from tests.services.client import Client
from tests.services.environment import POSTGRESQL
from tests.services.nginx import Nginx

CLIENTS = 4
MAX_RATIO = 3.0
MAX_GROWTH = 64 << 20  # bytes, of both web processes together
FILES, FILE_BYTES = 200, 8 << 20
UPLOAD_SECONDS = 25.0
ROUND_SECONDS = 30.0  # with uploads: they arrive and are stored in it
QUIET_SECONDS = 15.0
ROUNDS = 2
SAMPLE_SECONDS = 0.1
_ARRANGE = "from tests.load import arrangement; arrangement.main()"
FILE_FIELD = {"name": "photo", "label": "Photo", "type": "File", "maxBytes": FILE_BYTES + 1024}
SETTINGS = {"TRUSTED_PROXY_COUNT": "1", "FILES_UNUSED_BYTES": str(64 << 30)}  # more than all files of this fault


@fault("F26", "200 files of 8 MiB arrive at the same time", on=[POSTGRESQL])
def many_uploads(run: Run) -> None:
    with (
        run.own_world(settings=SETTINGS) as world,
        Nginx(world.port, world.application.events_port) as nginx,
    ):
        arranged = json.loads(world.application.manage("shell", "--verbosity", "0", "--command", _ARRANGE))
        form_id = form_with_a_file(world.port, arranged["key"])
        request = post_bytes(nginx.port, f"/api/submit?formId={arranged['form_id']}", arranged["key"], BODY)
        quiet: list[Load] = []
        busy: list[Load] = []
        growth: list[int] = []
        submit(nginx.port, request, 2)
        for _ in range(ROUNDS):
            quiet.append(submit(nginx.port, request, QUIET_SECONDS))
            with growing(world) as grown:
                busy.append(submit_next_to_uploads(run, nginx.port, arranged["key"], form_id, request))
            growth.append(max(grown))
        ratio = p99(busy) / p99(quiet)
        run.result.p99 = p99(busy)
        most = max(growth) / (1 << 20)
        run.note(f"p99 {1000 * p99(quiet):.0f} ms without them, ratio {ratio:.2f}; memory {most:+.0f} MiB")
        run.expect(ratio <= MAX_RATIO, f"p99 is {ratio:.2f} times that of quiet rounds, at most {MAX_RATIO:g}")
        run.expect(max(growth) <= MAX_GROWTH, f"the web processes grew by {most:.0f} MiB, at most {MAX_GROWTH >> 20}")


def form_with_a_file(port: int, key: str) -> str:
    """Create a published form with one File field, and return its id."""
    with Client(port) as client:
        made = client.post("/api/forms", key, json={"name": "Photos", "fields": [FILE_FIELD], "status": "published"})
    assert made.status == 201, made.text
    return str(made.json()["data"]["id"])


def submit_next_to_uploads(run: Run, port: int, key: str, form_id: str, request: bytes) -> Load:
    name = str(FILE_FIELD["name"])
    with uploading(port, form_id, key, name, count=FILES, size=FILE_BYTES, seconds=UPLOAD_SECONDS) as uploads:
        load = submit(port, request, ROUND_SECONDS)
    run.expect(uploads[0].statuses == {"201": FILES}, f"answers to uploads: {uploads[0].statuses}")
    run.note(f"{FILES} files in {uploads[0].seconds:.0f} s")
    return load


def submit(port: int, request: bytes, seconds: float) -> Load:
    return drive(port, request, clients=CLIENTS, processes=1, seconds=seconds)


def p99(loads: Sequence[Load]) -> float:
    return statistics.median(load.latency(99) for load in loads)


@contextmanager
def growing(world: World) -> Iterator[list[int]]:
    """Sample the memory of the web processes during the block: how much more it is than at its start, in bytes."""
    web = world.children("web")
    start = sum(processes.memory(pid) for pid in web)
    seen, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            seen.append(sum(processes.memory(pid) for pid in web) - start)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()
