"""Receivers that hang, drip, send too much or redirect (F7), that fail and heal (F9), and fairness (F21)."""

import socket
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from tests.faults import processes
from tests.faults.case import Run, fault
from tests.faults.checker.promises import RECORD_SECONDS
from tests.faults.checker.receiver_process import Arrival
from tests.faults.points import point
from tests.faults.standard_points import DELAYS, PROBE_EVERY
from tests.faults.tenant import Tenant
from tests.faults.world import World
from tests.services.client import Client
from tests.services.waiting import eventually, let_pass

HEALTHY = [f"/ok{number}" for number in range(50)]
METADATA = "http://169.254.169.254/latest/meta-data/"
MEMORY_BYTES = 50 << 20
DRIP_SECONDS = 20.0  # an attempt has 15, and nothing else ends a drip
SLOWER = 2.0  # p95 of healthy deliveries next to bad receivers, at most
PAIRS = 3
FLOOR_SECONDS = 0.4  # p95s below this are not compared: one batch, and the noise of two cores
FAIR_SECONDS = 2.0
HANG_SECONDS = 15.0
SCHEDULE = [0.5, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 60.0]  # seconds; the real one begins with 5 s and 1 min
JITTER = 0.2
LATE_SECONDS = 1.5  # from the due time to the request, on busy cores
MANY_FAILURES = 10  # in a row at one endpoint; then only a probe is sent
PROBE_SECONDS = 10.0  # instead of 30
CAP = 4  # requests in flight to one endpoint


def p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) * 95 // 100] if seconds else float("inf")


def typical_p95(seconds: Sequence[float]) -> float:
    """Return the median p95 of three thirds, in the order of arrival: a pause of the machine falls into one of them."""
    part = len(seconds) // 3
    return statistics.median(p95(seconds[start : start + part]) for start in (0, part, 2 * part))


@fault("F7", "50 healthy receivers among silent, dripping, endless and redirecting ones", quick=True)
def bad_receivers(run: Run) -> None:
    """
    Measure p95 without and with bad receivers, until a pair is within the bound, at most three times.

    Bad receivers that delay others do so in every pair; other work of the machine, seconds long, rarely in three.
    """
    world = run.world
    warm_up(run, world)
    memory = delivering_memory(world)
    for _ in range(PAIRS):
        baseline, seconds, drips = measure_pair(run, world)
        most = max(SLOWER * baseline, FLOOR_SECONDS)
        if seconds <= most:
            break
    grown = delivering_memory(world) - memory
    run.note(f"p95 {baseline:.2f} s, with bad receivers {seconds:.2f} s; memory {grown / (1 << 20):+.0f} MiB")
    run.note(f"the drip ended at {max(drips):.1f} s")
    run.expect(seconds <= most, f"p95 of healthy deliveries was {seconds:.2f} s, at most {most:.2f}")
    run.expect(grown <= MEMORY_BYTES, f"the delivering processes grew by {grown / (1 << 20):.0f} MiB")
    run.expect(max(drips) <= DRIP_SECONDS, f"the drip ended after {max(drips):.1f} s")
    run.expect(not world.receivers.log().trapped, "a redirect was followed to the trap")


def measure_pair(run: Run, world: World) -> tuple[float, float, list[float]]:
    """Return p95 without and with bad receivers, and how long the drips took. Each pair has its own organizations."""
    count = run.pick(quick=12, full=24)
    bad = ["/silent", "/drip", "/huge", "/metadata", "/trap"]
    quiet, tenant = run.tenant(world, [HEALTHY]), run.tenant(world, [[*HEALTHY, *bad]])
    tenant.exclude(*bad)
    misbehave(world, tenant)
    baseline = typical_p95(spread(run, world, quiet, count))
    seconds = typical_p95(spread(run, world, tenant, count))
    drips = eventually(lambda: ended_drips(world, tenant), 40, "the sender ends the drip")
    for each in (quiet, tenant):
        run.forget(world, each)
    return baseline, seconds, drips


def misbehave(world: World, tenant: Tenant) -> None:
    for kind in ("silent", "drip", "huge"):
        world.receivers.behave(f"{tenant.prefix}/{kind}", kind)
    world.receivers.behave(f"{tenant.prefix}/metadata", status=302, location=METADATA)
    world.receivers.behave(f"{tenant.prefix}/trap", status=307, location=world.receivers.trap_url("/"))


def warm_up(run: Run, world: World) -> None:
    """Let every process deliver once: imports and first connections are not the baseline."""
    tenant = run.tenant(world, [HEALTHY])
    poster = run.poster(world, tenant)
    poster.post()
    run.drain(world, tenant, poster, 60)
    run.forget(world, tenant)


def spread(run: Run, world: World, tenant: Tenant, count: int) -> list[float]:
    """Post so many submissions, two a second; return the seconds to each healthy arrival."""
    poster = run.poster(world, tenant)
    poster.start(count, rate=2)
    poster.join()
    run.judge(world, tenant, poster)
    return run.latencies(world, tenant, poster, "/ok")


def delivering_memory(world: World) -> int:
    return sum(processes.memory(pid) for pid in world.deliverers())


def ended_drips(world: World, tenant: Tenant) -> list[float]:
    return [one.answered - one.arrived for one in world.receivers.log().of(f"{tenant.prefix}/drip") if one.answered]


@fault("F9", "every receiver answers 500, then heals; a range is replayed")
def failing_receivers(run: Run) -> None:
    """Endpoints with one message show the schedule, one with thirty messages the probes and the cap."""
    points = {
        "delays": point(DELAYS, "set", value=SCHEDULE),
        "probes": point(PROBE_EVERY, "set seconds", value=PROBE_SECONDS),
    }
    with run.own_world(points=points) as world:
        tenant = run.tenant(world, [["/few0"], ["/few1"], ["/few2"]])
        busy = run.tenant(world, [["/many"]])
        for each in (tenant, busy):
            world.receivers.behave(each.prefix, status=500, seconds=0.2)
        few, many = run.poster(world, tenant), run.poster(world, busy)
        for _ in range(3):
            few.post()
        many.start(30, rate=30)
        many.join()
        let_pass(3 * PROBE_SECONDS)
        check_schedule(run, world, tenant)
        check_probes(run, world, busy)
        for each in (tenant, busy):
            world.receivers.behave(each.prefix)
        for each, poster in ((tenant, few), (busy, many)):
            run.judge(world, each, poster, within=2 * PROBE_SECONDS + 60, resends=True)
        replay(run, world, busy)


def check_schedule(run: Run, world: World, tenant: Tenant) -> None:
    worst = 0.0
    for arrivals in world.receivers.log().by_message_and_path(tenant.prefix).values():
        run.expect(len(arrivals) > len(SCHEDULE) - 2, f"only {len(arrivals)} attempts at an endpoint with one message")
        for (earlier, later), delay in zip(pairwise(arrivals), SCHEDULE, strict=False):
            gap = later.arrived - (earlier.answered or earlier.arrived)
            worst = max(worst, gap - delay)
            early, late = delay * (1 - JITTER) - 0.1, delay * (1 + JITTER) + LATE_SECONDS
            run.expect(early <= gap <= late, f"a retry came after {gap:.1f} s instead of {delay:g} s")
    run.note(f"retries late by {worst:.1f} s at most")


def check_probes(run: Run, world: World, tenant: Tenant) -> None:
    """After ten failures in a row, and requests that were claimed before the tenth was recorded, one each 30 s."""
    arrivals = world.receivers.log().of(tenant.prefix)
    most = max(one.in_flight for one in arrivals)
    run.expect(most <= CAP, f"{most} requests were in flight to one endpoint, at most {CAP}")
    tenth = sorted(one.answered for one in arrivals if one.answered)[MANY_FAILURES - 1]
    later = [one for one in arrivals if one.arrived > tenth + RECORD_SECONDS]
    run.note(f"{len(later)} requests after ten failures in a row, {most} in flight")
    gaps = [after.arrived - before.arrived for before, after in pairwise(later)]
    run.expect(len(later) >= 1, "no probe was sent")
    run.expect(all(gap >= PROBE_SECONDS * 0.8 for gap in gaps), f"probes {min(gaps, default=0):.1f} s apart")


def replay(run: Run, world: World, tenant: Tenant) -> None:
    """Replay all; each message comes again with its id and body."""
    before = first_bodies(world.receivers.log().of(tenant.prefix))
    seen = len(world.receivers.log().of(tenant.prefix))
    with Client(world.port) as client:
        day = time.strftime("%Y-%m-%d", time.gmtime())
        body = {"from": day, "to": day, "status": "all"}
        answer = client.post(f"/api/webhooks/{tenant.webhook('/many')}/replay", tenant.key, json=body)
    run.expect(answer.status == 200, f"the replay was answered {answer.status}: {answer.text[:200]}")

    def arrived() -> bool:
        again = world.receivers.log().of(tenant.prefix)[seen:]
        assert len(again) >= len(before), f"{len(again)} of {len(before)} came"
        return True

    eventually(arrived, 60, "the replayed messages arrive")
    again = first_bodies(world.receivers.log().of(tenant.prefix)[seen:])
    run.expect(again == before, "a replayed message has another id or body")


def first_bodies(arrivals: Sequence[Arrival]) -> dict[str, str]:
    return {one.id: one.sha256 for one in reversed(arrivals)}


@fault("F21", "fairness: hanging endpoints of one organization, of the same one, a silent mail server")
def fairness(run: Run) -> None:
    with silent_server() as port, run.own_world(settings={"EMAIL_URL": f"smtp://127.0.0.1:{port}"}) as world:
        warm_up(run, world)
        hundred = [f"/hang{number}" for number in range(100)]
        others = run.tenant(world, [hundred])
        world.receivers.behave(others.prefix, seconds=HANG_SECONDS)
        run.note(f"100 hang: {fair(run, world, others, '100 endpoints of another organization hang'):.1f} s")

        nine = run.tenant(world, [[f"/silent{number}" for number in range(9)], ["/ok"]])
        world.receivers.behave(f"{nine.prefix}/silent", "silent")
        slowest = fair(run, world, nine, "nine endpoints of the organization are silent", own=True)
        run.note(f"9 silent: {slowest:.1f} s")

        mails = [f"somebody{number}@example.com" for number in range(20)]
        mailing = run.tenant(world, [[]], recipients=mails)
        run.note(f"silent mail server: {fair(run, world, mailing, 'the mail server is silent'):.1f} s")


def fair(run: Run, world: World, busy: Tenant, what: str, *, own: bool = False) -> float:
    """Keep `busy` hanging; return the longest of some healthy deliveries, of another organization unless `own`."""
    hanging = run.poster(world, busy)
    for _ in range(10):
        hanging.send_to(busy.forms[0])
    healthy = busy if own else run.tenant(world, [["/ok"]])
    poster = run.poster(world, healthy)
    for _ in range(run.pick(quick=4, full=8)):
        let_pass(1.5)
        poster.send_to(healthy.forms[-1])
    eventually(lambda: len(run.latencies(world, healthy, poster, "/ok")) == len(poster.posts), 60, "all arrive")
    seconds = run.latencies(world, healthy, poster, "/ok")
    slowest = max(seconds)
    median = statistics.median(seconds)
    run.expect(slowest <= FAIR_SECONDS, f"{what}: a healthy delivery took {slowest:.1f} s (median {median:.1f} s)")
    run.forget(world, busy)
    return slowest


@contextmanager
def silent_server() -> Iterator[int]:
    """Listen, and answer nothing. Yield the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as server:
        yield server.getsockname()[1]
