"""A worker whose clock is wrong (F10), and leases of a dead process (F23)."""

import time
from pathlib import Path

from tests.faults import processes
from tests.faults.case import Run, fault
from tests.faults.world import RESTART_SECONDS, SWEEP_SECONDS, World
from tests.services.environment import POSTGRESQL
from tests.services.waiting import eventually, let_pass

FREE_SECONDS = 10.0  # after which another process may have the claims of a dead one
HELD = 4  # deliveries in flight to one endpoint


def wrong_clock(offset: str) -> dict[str, str]:
    """Return the variables for a wall clock that is wrong; the monotonic one is right."""
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return {"LD_PRELOAD": str(library), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@fault("F10", "a worker's clock is an hour fast, another's an hour slow", on=[POSTGRESQL])
def clock_off(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [[f"/{number}"] for number in range(5)])
    world.receivers.behave(tenant.prefix, seconds=1.0)
    poster = run.poster(world, tenant)
    with world.deliverer("fast", **wrong_clock("+1h")), world.deliverer("slow", **wrong_clock("-1h")):
        let_pass(world.start_seconds)
        poster.start(run.pick(quick=60, full=200), rate=15)
        poster.join()
        run.judge(world, tenant, poster, clocks_differ=True)
        arrivals = world.receivers.log().of(tenant.prefix)
        skewed = [one for one in arrivals if abs(one.arrived - int(one.timestamp)) > 3_000]
        run.note(f"{len(skewed)} messages signed by a wrong clock")
        run.expect(skewed, "no message was sent by a process with a wrong clock")
        attempts = {row.attempts for row in world.database.rows(tenant.forms, 5).deliveries}
        run.expect(attempts == {1}, f"deliveries had {sorted(attempts)} attempts, each needs one")
    run.forget(world, tenant)


@fault("F23", "what a dead process held is free within 10 s")
def held_by_the_dead(run: Run) -> None:
    """With the default lease: all four places of an endpoint are held by processes that are killed."""
    with run.own_world(settings={"DELIVERY_LEASE_SECONDS": ""}) as world:
        tenant = run.tenant(world, [["/a"]])
        world.receivers.behave(tenant.prefix, seconds=10)
        poster = run.poster(world, tenant)
        for _ in range(HELD):
            poster.post()
        eventually(lambda: open_requests(world, tenant.prefix) == HELD, 30, "four requests are in flight")
        world.receivers.behave(tenant.prefix)
        start = time.time()
        processes.kill(*world.deliverers())
        run.killed(start)
        for _ in range(3):
            poster.post()
        bound = FREE_SECONDS + SWEEP_SECONDS + RESTART_SECONDS + world.start_seconds
        run.judge(world, tenant, poster, within=90, recovery=bound)
        new = max(run.latencies(world, tenant, poster))
        run.note(f"new submissions arrived within {new:.1f} s")
        run.expect(new <= bound, f"a new submission took {new:.1f} s, at most {bound:.0f}")


def open_requests(world: World, prefix: str) -> int:
    return sum(one.answered is None for one in world.receivers.log().of(prefix))
