"""
One run with hundreds of kills: web processes, deliverers or workers, Redis and PostgreSQL, in random order.

At least half of them come while a client waits for an answer or a receiver has a request open.
"""

import signal
import time
from collections import Counter
from collections.abc import Callable

from tests.faults.case import Run, fault
from tests.faults.checker.poster import Poster
from tests.faults.tenant import Tenant
from tests.faults.world import World
from tests.services.waiting import eventually, let_pass

ID = "F200"
RATE = 25.0
SLOW_SECONDS = 0.4
FORMS = 10
WAIT_SECONDS = 15.0  # for a request in flight, before a kill comes without one
UNRECORDED_SECONDS = 0.5  # from an answer until its result is recorded
P99_SECONDS = 15.0  # a killed web process takes its open requests with it, and others queue until it is back


def register(kills: int) -> None:
    """Add the run to the faults."""

    @fault(ID, f"{kills} kills of web, deliverer or worker, Redis and PostgreSQL")
    def killed_everywhere(run: Run) -> None:
        with run.own_world() as world:
            tenant = run.tenant(world, [[f"/{number}"] for number in range(FORMS)])
            world.receivers.behave(tenant.prefix, seconds=SLOW_SECONDS)
            poster = run.poster(world, tenant)
            poster.start(rate=RATE, threads=16)
            kill_all(run, world, tenant, poster, kills)
            poster.stop()
            run.judge(world, tenant, poster, within=180, p99_seconds=P99_SECONDS, recovery=120)
            check_copies(run, world, tenant)


def kill_all(run: Run, world: World, tenant: Tenant, poster: Poster, kills: int) -> None:
    victims = Counter[str]()
    ways = means(run, world)
    in_flight = 0
    for _ in range(kills):
        let_pass(run.rng.uniform(0.2, 1.2))
        name = run.rng.choice(list(ways))
        in_flight += wait_for_requests(world, tenant, poster, name)
        with run.outage():
            ways[name]()
        victims[name] += 1
        run.result.kills += 1
    run.note(", ".join(f"{count} of {name}" for name, count in sorted(victims.items())))
    run.note(f"{in_flight} with requests in flight, {len(poster.posts)} submissions")
    run.expect(2 * in_flight >= kills, f"only {in_flight} of {kills} kills had requests in flight")


def means(run: Run, world: World) -> dict[str, Callable[[], object]]:
    ways: dict[str, Callable[[], object]] = {
        "web": lambda: world.kill_web(run.rng),
        "deliverer": lambda: world.kill_deliverer(run.rng),
    }
    if run.is_postgresql:
        ways["Redis"] = lambda: restart(world.redis.stop, world.redis.start, signal.SIGKILL)
        ways["PostgreSQL"] = lambda: restart(world.postgresql.stop, world.postgresql.start, signal.SIGQUIT)
    else:
        ways["serve"] = lambda: (world.kill_service(), world.start_service())
    return ways


def restart(stop: Callable[[signal.Signals], None], start: Callable[[], None], number: signal.Signals) -> None:
    stop(number)
    start()


def wait_for_requests(world: World, tenant: Tenant, poster: Poster, victim: str) -> bool:
    """Wait until a request is in flight at the victim; return False if none is for so long."""
    recent = time.time() - 60

    def open_deliveries() -> bool:
        arrivals = world.receivers.log().of(tenant.prefix)
        return any(one.answered is None and one.arrived > recent for one in arrivals)

    try:
        eventually(lambda: poster.open > 0 if victim == "web" else open_deliveries(), WAIT_SECONDS)
    except AssertionError:
        return False
    return True


def check_copies(run: Run, world: World, tenant: Tenant) -> None:
    """No more copies than requests were in flight at the kills."""
    arrivals = world.receivers.log().of(tenant.prefix)
    most = sum(
        one.was_in_flight(hurt.start - UNRECORDED_SECONDS, hurt.start) for hurt in run.disturbances for one in arrivals
    )
    run.note(f"{most} deliveries in flight at kills")
    run.expect(run.result.duplicates <= most, f"{run.result.duplicates} copies for {most} deliveries in flight")
