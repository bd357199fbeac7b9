"""
Submissions while other clients of nginx are slow (F25), compared with quiet rounds of the same run.

In every other round 200 exports are never read, 200 bodies stay at their first byte, and 2,000 heads are never
finished.
"""

import json
import statistics
import time
from collections.abc import Sequence

from tests.faults.case import Run, fault
from tests.load.client import Load, drive, post_bytes
from tests.load.request import BODY
from tests.load.slow_peers import slow_peers
from tests.services.application import answers
from tests.services.environment import SQLITE
from tests.services.nginx import Nginx

CLIENTS = 4
MAX_RATIO = 3.0
MAX_HEALTH_SECONDS = 1.0
EXPORTS, BODIES, HEADS = 200, 200, 2_000
ROUND_SECONDS, ROUNDS = 5.0, 3
_ARRANGE = "from tests.load import arrangement; arrangement.main()"
_FILL = "from tests.load import arrangement; arrangement.fill(rows=160, characters=50_000)"  # 8 MB: no socket holds it


@fault("F25", "2,400 other clients of nginx are slow", on=[SQLITE])
def slow_clients(run: Run) -> None:
    with (
        run.own_world(streams=True, settings={"TRUSTED_PROXY_COUNT": "1"}) as world,
        Nginx(world.port, world.application.events_port) as nginx,
    ):
        arranged = json.loads(world.application.manage("shell", "--verbosity", "0", "--command", _ARRANGE))
        world.application.manage("shell", "--verbosity", "0", "--command", _FILL)
        path = f"/api/submit?formId={arranged['form_id']}"
        request = post_bytes(nginx.port, path, arranged["key"], BODY)
        quiet: list[Load] = []
        slow: list[Load] = []
        health: list[float] = []
        submit(nginx.port, request, 1)
        for _ in range(ROUNDS):
            quiet.append(submit(nginx.port, request, ROUND_SECONDS))
            with slow_peers(nginx.port, spread=True) as peers:
                peers.exports(EXPORTS, arranged["key"])
                peers.bodies(BODIES, path, f"x-access-key: {arranged['key']}\r\n")
                peers.heads(HEADS)
                slow.append(submit(nginx.port, request, ROUND_SECONDS))
                health.append(health_seconds(nginx.port))
        ratio = p99(slow) / p99(quiet)
        run.result.p99 = p99(slow)
        run.note(f"p99 {1000 * p99(quiet):.0f} ms without them, ratio {ratio:.2f}, /healthz {max(health):.2f} s")
        run.expect(ratio <= MAX_RATIO, f"p99 is {ratio:.2f} times that of quiet rounds, at most {MAX_RATIO:g}")
        run.expect(max(health) <= MAX_HEALTH_SECONDS, f"/healthz took {max(health):.1f} s")


def submit(port: int, request: bytes, seconds: float) -> Load:
    return drive(port, request, clients=CLIENTS, processes=1, seconds=seconds)


def p99(loads: Sequence[Load]) -> float:
    return statistics.median(load.latency(99) for load in loads)


def health_seconds(port: int) -> float:
    """Return how long `/healthz` took."""
    start = time.perf_counter()
    assert answers(port, "/healthz")
    return time.perf_counter() - start
