"""PostgreSQL restarted (F5), frozen (F18), read-only (F19); outages and the logs (F20)."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.faults import processes
from tests.faults.case import P99_SECONDS, Run, fault
from tests.faults.world import World
from tests.services.environment import POSTGRESQL
from tests.services.waiting import let_pass

DOWN_SECONDS = 5.0
FROZEN_SECONDS = 15.0
AFTER_SECONDS = 15.0  # within which all is dispatched again
LOG_LINES_A_SECOND = 1  # of an outage, all roles together; and ten when it begins
REFUSED_SECONDS = 2.0  # until an answer 503, with 64 clients
REFUSALS = 40  # that an outage must see, for its lines to mean something
RATE = 20.0


@fault("F5", "PostgreSQL is stopped immediately and down 5 s; serve is killed")
def database_restarted(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"], ["/b"]])
    poster = run.poster(world, tenant)
    ends = world.ends
    poster.start(rate=RATE)
    for _ in range(run.pick(quick=1, full=3)):
        let_pass(run.rng.uniform(1, 3))
        with run.outage():
            restart_database(world) if run.is_postgresql else restart_service(world)
        run.result.kills += 1
    let_pass(2)
    poster.stop()
    run.expect(world.ends == ends, f"{world.ends - ends} roles ended and had to be restarted")
    run.judge(world, tenant, poster, p99_seconds=P99_SECONDS if run.is_postgresql else run.restart_p99(world))
    run.forget(world, tenant)


def restart_database(world: World) -> None:
    world.postgresql.stop(signal.SIGQUIT)
    let_pass(DOWN_SECONDS)
    world.postgresql.start()


def restart_service(world: World) -> None:
    world.kill_service()
    world.start_service()


@contextmanager
def frozen(world: World) -> Iterator[None]:
    """Stop every process of PostgreSQL in its tracks, as a hung disk does."""
    assert world.postgresql.process is not None
    postmaster = world.postgresql.process.popen.pid
    pids = list(processes.tree(postmaster))
    processes.kill(*pids, number=signal.SIGSTOP)
    try:
        yield
    finally:
        processes.kill(*pids, number=signal.SIGCONT)


@fault("F18", "PostgreSQL is frozen (SIGSTOP), and requests wait", on=[POSTGRESQL])
def database_frozen(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"]])
    poster = run.poster(world, tenant)
    poster.start(rate=10, threads=32)
    let_pass(1)
    with run.outage(), frozen(world):
        let_pass(FROZEN_SECONDS)
    let_pass(2)
    poster.stop()
    statuses = [told.status for told in poster.told()]
    run.note(f"{statuses.count(503)} times 503, {statuses.count(0)} unanswered")
    run.expect(statuses.count(0) == 0, f"{statuses.count(0)} submits were not answered")
    run.judge(world, tenant, poster, recovery=AFTER_SECONDS, p99_seconds=FROZEN_SECONDS + 5)
    run.forget(world, tenant)


@contextmanager
def read_only(world: World) -> Iterator[None]:
    """Refuse writes, as after a fail-over."""
    set_read_only(world, "on")
    try:
        yield
    finally:
        set_read_only(world, "off")


def set_read_only(world: World, value: str) -> None:
    with psycopg.connect(world.postgresql.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")


@fault("F19", "PostgreSQL is read-only", on=[POSTGRESQL])
def database_read_only(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"], ["/b"]])
    poster = run.poster(world, tenant)
    poisoned = world.logged("cannot be dispatched")
    poster.start(rate=40)  # so that dispatch meets rows at the moment of the change
    let_pass(2)
    with run.outage(), read_only(world):
        let_pass(DOWN_SECONDS)
    let_pass(1)
    poster.stop()
    statuses = [told.status for told in poster.told()]
    run.note(f"{statuses.count(503)} times 503, {statuses.count(500)} times 500")
    aside = world.logged("cannot be dispatched") - poisoned
    run.expect(not aside, f"{aside} rows were set aside as poison")
    run.judge(world, tenant, poster, recovery=AFTER_SECONDS, within=AFTER_SECONDS + 5)
    run.forget(world, tenant)


@fault("F20", "an outage refuses quickly, and writes a bounded number of log lines", on=[POSTGRESQL])
def outage_logged(run: Run) -> None:
    world = run.world
    tenant = run.tenant(world, [["/a"]])
    poster = run.poster(world, tenant)
    world.postgresql.stop(signal.SIGQUIT)
    lines, size, start = world.logged(""), world.log_bytes, time.monotonic()
    with run.outage():
        poster.start(rate=60, threads=64)
        let_pass(10)
        poster.stop()
        seconds = time.monotonic() - start
        lines, size = world.logged("") - lines, world.log_bytes - size
        world.postgresql.start()
    waits = [told.seconds for told in poster.told() if told.status == 503]
    refused, longest = len(waits), max(waits, default=0)
    most = LOG_LINES_A_SECOND * seconds + 10
    run.note(f"{lines} lines, {size // 1000} kB for {refused} times 503 in {seconds:.0f} s, {longest:.2f} s at most")
    run.expect(longest <= REFUSED_SECONDS, f"a refusal took {longest:.1f} s, at most {REFUSED_SECONDS:g}")
    run.expect(refused >= REFUSALS, f"only {refused} requests were refused")
    run.expect(lines <= most, f"{lines} log lines in {seconds:.0f} s of an outage, at most {most:.0f}")
    run.judge(world, tenant, poster)
    run.forget(world, tenant)
