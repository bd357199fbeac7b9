"""Death at named points (F2), and rows that raise or kill (F12, F22)."""

import statistics

from tests.faults.case import Run, fault
from tests.faults.checker.poster import Poster
from tests.faults.points import point
from tests.faults.standard_points import DELAYS, EXITS, MARK_FIRST, MARKER, QUICK_DELAYS
from tests.faults.tenant import Tenant
from tests.faults.world import World
from tests.services.waiting import eventually, let_pass

HEALTHY_SECONDS = 5.0  # within which a delivery leaves in spite of a poison row
FEW_DELAYS = [0.2] * 2  # so that three attempts are all


@fault("F2", "a process exits at a named point", quick=True)
def exit_at_points(run: Run) -> None:
    """One submission at a time, so that each point allows a known number of copies."""
    world = run.pointed
    tenant = run.tenant(world, [["/a"]])
    poster = run.poster(world, tenant)
    for _ in range(run.pick(quick=1, full=3)):
        for title, (_, _, most) in EXITS.items():
            exit_at(run, world, tenant, poster, title, most)
    run.judge(world, tenant, poster, p99_seconds=run.restart_p99(world))
    run.forget(world, tenant)


def exit_at(run: Run, world: World, tenant: Tenant, poster: Poster, title: str, most: int) -> None:
    """Post one submission, let a process exit, and wait until the submission has arrived."""
    one = world.points[title]
    one.arm()
    with run.outage():
        post = poster.post()
        eventually(lambda: one.has_run, 60, f"a process exits {title}")
    run.result.kills += 1
    run.drain(world, tenant, poster, 60)
    arrivals = [arrival for arrival in world.receivers.log().of(tenant.prefix) if arrival.id == post.message_id]
    run.expect(0 < len(arrivals) <= 1 + most, f"P3: it arrived {len(arrivals)} times after an exit {title}")


@fault("F12", "a poison row: rendering raises", quick=True)
def poison_that_raises(run: Run) -> None:
    """It fails after its eleven attempts; deliveries before and after it leave as usual."""
    world = run.pointed
    tenant = run.tenant(world, [["/a"], ["/b"]])
    poster = run.poster(world, tenant)
    poisons = [poster.post(MARKER) for _ in range(2)]  # one at each endpoint
    poster.start(20, rate=4)
    poster.join()

    def ended() -> bool:
        rows = world.database.rows(tenant.forms, 5).deliveries
        seen = [(row.status, row.attempts) for row in rows if row.message_id in {one.message_id for one in poisons}]
        assert seen == [("failed", len(QUICK_DELAYS) + 1)] * 2, seen
        return True

    eventually(ended, 60, "the poison rows fail after their attempts")
    run.expect_poison_unsent(world, tenant, poster, poisons)
    expect_quick(run, world, tenant, poster)
    run.forget(world, tenant)


@fault("F22", "a poison row: sending it kills the process")
def poison_that_kills(run: Run) -> None:
    """Two lost claims are free: with three attempts allowed, five processes die. No other delivery loses an attempt."""
    points = {
        "kill": point("webhooks.transport.http.post", "on marked", marker=MARKER, kills=True),
        "delays": point(DELAYS, "set", value=FEW_DELAYS),
    }
    deaths = 2 + len(FEW_DELAYS) + 1
    with run.own_world(points=points) as world:
        tenant = run.tenant(world, [["/a"], ["/b"]])
        poster = run.poster(world, tenant)
        with run.outage():
            poison = poster.post(MARKER)
            poster.start(10_000, rate=2)

            def ended() -> bool:
                rows = world.database.rows(tenant.forms, 5).deliveries
                seen = [(row.status, row.attempts) for row in rows if row.message_id == poison.message_id]
                assert seen
                assert seen[0][0] == "failed", seen
                return True

            try:
                eventually(ended, deaths * (run.recovery_bound(world) + 2), "the poison row fails after its attempts")
            finally:
                poster.stop()
        let_pass(2)
        run.expect_poison_unsent(world, tenant, poster, [poison])
        rows = world.database.rows(tenant.forms, 5).deliveries
        tries = {row.attempts for row in rows if row.message_id != poison.message_id}
        run.expect(tries == {1}, f"others were attempted {sorted(tries)} times")


def expect_quick(run: Run, world: World, tenant: Tenant, poster: Poster) -> None:
    seconds = sorted(run.latencies(world, tenant, poster))
    p95 = seconds[len(seconds) * 95 // 100] if seconds else 0.0
    run.note(f"other deliveries: median {statistics.median(seconds):.2f} s, p95 {p95:.2f} s")
    run.expect(p95 <= HEALTHY_SECONDS, f"p95 of other deliveries was {p95:.1f} s, at most {HEALTHY_SECONDS:g}")


@fault("F0", "guard: a dispatch that is not one transaction must make the checker fail", quick=True)
def guard(run: Run) -> None:
    """Dispatch marks the rows first, commits, and dies: P1 must be seen as broken."""
    world = run.pointed
    one = world.points[MARK_FIRST]
    tenant = run.tenant(world, [["/a"]])
    poster = run.poster(world, tenant)
    one.arm()
    with run.outage():
        poster.post()
        eventually(lambda: one.has_run, 60, "dispatch dies after the mark")
    broken = run.broken_in(world, tenant, poster, within=3)
    run.expect(any("P1" in each for each in broken), f"the checker has not seen the loss: {broken}")
    run.forget(world, tenant)
