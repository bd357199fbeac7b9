"""Names that lead to the trap (F13): rebinding, mixed answers, odd spellings. Names that nobody answers (F29)."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median_high

from tests.faults.case import P99_SECONDS, Run, fault
from tests.faults.separate import is_separate, run_separately
from tests.faults.standard_points import LOOKED_UP, NAMES
from tests.faults.tenant import Tenant
from tests.faults.world import World
from tests.services.client import Client
from tests.services.waiting import eventually

ASKING = 32  # clients that save URLs with such names, for each web process: twice its threads
EVERY_SECONDS = 6.0  # each saves a URL so often, and would wait for nearly as long if the service looked up its name
SLOWER = 3.0  # p99 of submit next to them, at most
PAIRS = 5
SILENT = 100  # webhooks at such names, each with its own name
LATE_SECONDS = 5.0  # as long as an attempt at a silent name takes
SUBMITTED = 8  # to these: 800 attempts of 5 seconds each, some 60 of them at the same time
SPELLINGS = ("2130706434", "0x7f000002", "0x7f.0.0.2", "017700000002", "127.2", "[::ffff:127.0.0.2]", "①②⑦.0.0.2")


@fault("F13", "names and spellings that lead to an address that is not allowed", quick=True)
def rebinding(run: Run) -> None:
    """
    Each endpoint is tried eleven times, so that a changing name is looked up before and after its change.

    Each submission has new endpoints: of one endpoint, more would wait for its circuit.
    """
    for _ in range(run.pick(quick=1, full=5)):
        try_every_name(run, run.pointed)
    trapped = run.pointed.receivers.log().trapped
    run.expect(not trapped, f"{trapped} connections reached the trap")
    run.note(f"{len(NAMES) + len(SPELLINGS)} names, {trapped} connections to the trap")


def try_every_name(run: Run, world: World) -> None:
    urls = [f"http://{name}:{world.receivers.trap_port}/" for name in (*NAMES, *SPELLINGS)]
    tenant = run.tenant(world, [["/ok", *urls]])
    tenant.exclude(*urls)
    poster = run.poster(world, tenant)
    poster.post()

    def ended() -> bool:
        rows = world.database.rows(tenant.forms, 5)
        assert rows.deliveries
        assert not rows.unfinished, f"{len(rows.unfinished)} deliveries are not finished"
        return True

    eventually(ended, 60, "every delivery ends")
    run.judge(world, tenant, poster)
    rows = world.database.rows(tenant.forms, 5).deliveries
    statuses = {row.status for row in rows if tenant.webhooks[row.webhook_id] in urls}
    looked_up = set((world.directory / LOOKED_UP).read_text().split())
    run.expect(statuses == {"failed"}, f"deliveries to the trap ended {sorted(statuses)}")
    run.expect(looked_up == set(NAMES), f"only {sorted(looked_up)} were looked up")
    run.forget(world, tenant)


@fault("F29", "a silent name server, while others submit", quick=True)
def silent_name_server(run: Run) -> None:
    """
    Compare p99 of submit next to endpoints that answer late, whose names need no look-up, and next to silent names.

    Both sides have the same number of attempts and of clients that save URLs, so that only the look-ups differ. They go
    in pairs, until most pairs are within the bound: one pause of the machine delays all submits that arrive in it, and
    decides p99 of one side of one pair, but not of most.
    """
    if not is_separate():
        run_separately(run)
        return
    ratios: list[float] = []
    with run.own_world() as world:
        for _ in range(PAIRS):
            late = p99_next_to(run, world, [f"/late{number}" for number in range(SILENT)])
            silent = p99_next_to(run, world, [f"http://silent{number}.example/" for number in range(SILENT)])
            run.note(f"p99 {1000 * late:.0f} ms, with silent names {1000 * silent:.0f} ms")
            ratios.append(silent / late)
            if median_high(ratios) <= SLOWER:
                break
    run.expect(
        median_high(ratios) <= SLOWER,
        f"p99 of submit next to silent names was {median_high(ratios):.1f} times that without them, in the median pair",
    )


def p99_next_to(run: Run, world: World, endpoints: list[str]) -> float:
    """Return p99 of submit, in seconds, while deliveries to these endpoints fail late, and clients save their URLs."""
    tenant = run.tenant(world, [endpoints])
    world.receivers.behave(f"{tenant.prefix}/late", status=503, seconds=LATE_SECONDS)
    keep_attempting(run, world, tenant)
    with saving_urls(world, tenant):
        seconds = sorted(seconds_of_submits(run, world))
    run.forget(world, tenant)
    return seconds[len(seconds) * 99 // 100]


def seconds_of_submits(run: Run, world: World) -> list[float]:
    """Submit to another organization, where each arrives at its first attempt. Return how long each submit took."""
    tenant = run.tenant(world, [["/ok"]])
    poster = run.poster(world, tenant)
    poster.start(run.pick(quick=150, full=300), rate=20)
    poster.join()
    # `make test` compares the two sides only: other suites, and what else the machine does, slow both.
    run.judge(world, tenant, poster, p99_seconds=math.inf if run.quick else P99_SECONDS)
    attempts = {row.attempts for row in world.database.rows(tenant.forms, 5).deliveries}
    run.expect(attempts == {1}, f"deliveries of others took {sorted(attempts)} attempts")
    run.forget(world, tenant)
    return [told.seconds for told in poster.told()]


def keep_attempting(run: Run, world: World, tenant: Tenant) -> None:
    """
    Keep the deliverers at these endpoints.

    From the second round on, the first one's look-ups hold their threads too: the system's resolver waits longer.
    """
    poster = run.poster(world, tenant)
    for _ in range(SUBMITTED):
        poster.post()
    rows = world.database.rows
    eventually(lambda: any(row.attempts for row in rows(tenant.forms, 5).deliveries), 60, "the first attempts end")


@contextmanager
def saving_urls(world: World, tenant: Tenant) -> Iterator[None]:
    """Save the URLs of webhooks again and again, from several clients."""
    over = threading.Event()

    def save(webhook: str, endpoint: str, start: float) -> None:
        url = world.receivers.url(endpoint) if endpoint.startswith("/") else endpoint
        with Client(world.port) as client:
            while not over.wait(max(0.0, start - time.monotonic())):
                client.patch(f"/api/webhooks/{webhook}", tenant.key, json={"url": url})
                start += EVERY_SECONDS

    begun = time.monotonic()
    chosen = list(tenant.webhooks.items())[: ASKING * len(world.children("web"))]
    threads = [
        threading.Thread(target=save, args=(*each, begun + EVERY_SECONDS * number / len(chosen)))
        for number, each in enumerate(chosen)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
