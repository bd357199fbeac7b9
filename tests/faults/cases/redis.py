"""Redis killed, down and frozen (F3, F4, F31): submissions go on, deliveries resume, and workers live on."""

import signal
import statistics
import time

from tests.faults import processes
from tests.faults.case import Run, fault
from tests.faults.world import World
from tests.services.environment import POSTGRESQL
from tests.services.waiting import let_pass

# That a submit may take longer while Redis is known to be down: half of the time-out that it does not wait for.
EXTRA_SECONDS = 0.25
RATE = 10.0  # submissions a second
SLOW_SECONDS = 1.0  # of a receiver


@fault("F3", "Redis is killed and restarted empty", on=[POSTGRESQL], quick=True)
def redis_killed(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"], ["/b"]])
    poster = run.poster(world, tenant)
    poster.start(rate=RATE)
    for _ in range(run.pick(quick=1, full=5)):
        let_pass(run.rng.uniform(1, 2))
        with run.outage():
            world.redis.stop(signal.SIGKILL)
            world.redis.start()
        run.result.kills += 1
    let_pass(1)
    poster.stop()
    run.judge(world, tenant, poster)
    run.forget(world, tenant)


@fault("F4", "Redis is down, then frozen", on=[POSTGRESQL], quick=True)
def redis_unreachable(run: Run) -> None:
    world = run.world
    seconds = run.pick(quick=5, full=30)  # a process asks Redis again every second
    for title in ("down", "frozen"):
        tenant = run.tenant(world, [["/a"], ["/b"]])
        poster = run.poster(world, tenant)
        poster.start(rate=RATE)
        let_pass(2)
        start = time.time()
        with run.outage():
            hurt(world, title)
            let_pass(seconds)
            heal(world, title)
        end = time.time()
        let_pass(1)
        poster.stop()
        before = [told.seconds for told in poster.told() if told.at < start]
        # The first ones find out; each process does without Redis for a second at a time, and then one asks again.
        during = [told.seconds for told in poster.told() if start + 2 < told.at < end]
        extra = statistics.median(during) - statistics.median(before)
        run.note(f"{title}: {1000 * extra:+.0f} ms in the median")
        run.expect(extra <= EXTRA_SECONDS, f"a submit took {extra:.2f} s longer while Redis was {title}")
        run.judge(world, tenant, poster)
        run.forget(world, tenant)


@fault("F31", "a worker's Redis is killed ten times while hints wait in its hands", on=[POSTGRESQL], quick=True)
def worker_outlives_redis(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/slow/a"], ["/b"]])
    world.receivers.behave(f"{tenant.prefix}/slow", seconds=SLOW_SECONDS)  # so both children are busy, and hints wait
    ends = world.ends
    poster = run.poster(world, tenant)
    poster.start(rate=RATE)
    for _ in range(run.pick(quick=3, full=10)):
        let_pass(run.rng.uniform(0.5, 1.5))
        with run.outage():
            world.redis.stop(signal.SIGKILL)
            let_pass(run.rng.uniform(0, 1))
            world.redis.start()
        run.result.kills += 1
    let_pass(1)
    poster.stop()
    run.judge(world, tenant, poster)
    run.expect(world.ends == ends, f"{world.ends - ends} roles ended")
    run.forget(world, tenant)


def hurt(world: World, title: str) -> None:
    if title == "down":
        world.redis.stop(signal.SIGKILL)
    elif world.redis.process:
        processes.kill(world.redis.process.popen.pid, number=signal.SIGSTOP)


def heal(world: World, title: str) -> None:
    if title == "down":
        world.redis.start()
    elif world.redis.process:
        processes.kill(world.redis.process.popen.pid, number=signal.SIGCONT)
