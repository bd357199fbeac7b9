"""SIGKILL of delivering processes."""

import math

from tests.faults.case import Run, fault
from tests.services.waiting import let_pass

SLOW_SECONDS = 2.0
FORMS = 10
SUSPECTS = 8  # deliveries with a lost claim that a process has in flight (docs/adr/0109)


@fault("F1", "a worker or deliverer is killed, receivers take 2 s", quick=True)
def deliverer_killed(run: Run) -> None:
    """200 submissions to ten endpoints at four at a time take ten seconds, in which the kills are."""
    kills, count = run.pick(quick=3, full=10), run.pick(quick=60, full=200)
    world = run.world
    tenant = run.tenant(world, [[f"/{number}"] for number in range(FORMS)])
    world.receivers.behave(tenant.prefix, seconds=SLOW_SECONDS)
    poster = run.poster(world, tenant)
    poster.start(count, rate=count / (kills * 1.5))
    for _ in range(kills):
        let_pass(run.rng.uniform(0.5, 2.5))
        run.killed(world.kill_deliverer(run.rng))
    poster.join()
    width = FORMS * 4  # deliveries in flight
    queue = count / width * SLOW_SECONDS  # the time that the endpoints need
    verdict = run.judge(world, tenant, poster, within=90, recovery=math.inf)
    # Lost claims go a few at a time. How many there are depends on the moments of the kills: those of one, or of many.
    again = max(width, verdict.duplicates) / SUSPECTS * SLOW_SECONDS
    bound = run.recovery_bound(world) + queue + again
    run.expect(verdict.recovery <= bound, f"recovery took {verdict.recovery:.1f} s, at most {bound:.0f}")
    run.forget(world, tenant)
