"""SIGKILL of delivering processes."""

from tests.faults.case import Run, fault
from tests.services.waiting import let_pass

SLOW_SECONDS = 2.0
FORMS = 10
SUSPECTS = 16  # deliveries with a lost claim that a process has in flight (docs/adr/0109)


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
    # One kill, and of many kills two in a row, lose that many claims each, before the first of them are sent again.
    lost = run.pick(quick=1, full=2) * width / SUSPECTS * SLOW_SECONDS
    run.judge(world, tenant, poster, within=90, recovery=run.recovery_bound(world) + queue + lost)
    run.forget(world, tenant)
