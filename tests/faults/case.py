"""A fault, one run of it over one database, and the result."""

import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.backing import Backing
from tests.faults.checker.database import Rows
from tests.faults.checker.poster import Post, Poster
from tests.faults.checker.promises import RECORD_SECONDS, Disturbance, Evidence, Verdict, judge
from tests.faults.standard_points import standard_points
from tests.faults.tenant import Tenant
from tests.faults.world import LEASE_SECONDS, NAMES, RESTART_SECONDS, SWEEP_SECONDS, World
from tests.services.environment import POSTGRESQL, SQLITE
from tests.services.processes import ROOT
from tests.services.waiting import eventually

BOTH = (SQLITE, POSTGRESQL)
KEPT = ROOT / "build" / "faults"  # logs of failures
P99_SECONDS = 3.0  # of submit; more on a machine that is so busy that the roles take long to start
STUCK_SECONDS = SWEEP_SECONDS + 2  # a lease or a due time may be past by so much: a sweep, and slow cores


@dataclass(frozen=True)
class Fault:
    """`quick`: also in `make test`, with fewer kills and shorter outages."""

    id: str
    title: str
    databases: Sequence[str]
    function: Callable[["Run"], None]
    quick: bool = False

    def __reduce__(self) -> tuple[Callable[[str], "Fault"], tuple[str]]:
        """Pickle it by its id, for the results of another process."""
        return fault_named, (self.id,)


FAULTS: dict[str, Fault] = {}


def fault_named(id: str) -> Fault:  # noqa: A002 - its name in the table
    return FAULTS[id]


def fault(
    id: str,  # noqa: A002 - its name in the table
    title: str,
    *,
    on: Sequence[str] = BOTH,
    quick: bool = False,
) -> Callable[[Callable[["Run"], None]], Callable[["Run"], None]]:
    """Add a function to the faults."""

    def register(function: Callable[["Run"], None]) -> Callable[["Run"], None]:
        FAULTS[id] = Fault(id, title, on, function, quick)
        return function

    return register


@dataclass
class Result:
    fault: Fault
    backend: str
    seed: int
    kills: int = 0
    duplicates: int = 0
    recovery: float = 0.0
    p99: float = 0.0
    seconds: float = 0.0
    broken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.broken


class Worlds:
    """Services with the default settings, shared by the faults that leave them healthy."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._backing = Backing(directory)
        self._shared: dict[tuple[str, bool], ExitStack] = {}
        self._worlds: dict[tuple[str, bool], World] = {}
        self._number = 0

    def new_directory(self, backend: str) -> Path:
        self._number += 1
        return self._directory / f"{backend}-{self._number}"

    def shared(self, backend: str, *, pointed: bool = False) -> World:
        """Return the service; `pointed` is another one, with the standard points."""
        key = (backend, pointed)
        if key not in self._worlds:
            stack = ExitStack()
            directory = self.new_directory(backend)
            points = standard_points(directory) if pointed else {}
            self._worlds[key] = stack.enter_context(self.new(backend, directory, points=points))
            self._shared[key] = stack
        return self._worlds[key]

    def new(self, backend: str, directory: Path, **options: Any) -> World:
        """Return a service that is not started yet, over a fresh database."""
        return World(backend, directory, **{"backing": self._backing, **options})

    def keep_logs(self, name: str, backend: str) -> None:
        """Copy the logs of all services on this database so far to build/faults, to look into a failure."""
        for path in self._directory.glob(f"{backend}-*/**/*.log"):
            target = KEPT / f"{name}-{backend}" / path.relative_to(self._directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    def discard(self, backend: str) -> None:
        """Stop its services; the next fault gets fresh ones."""
        for key in [key for key in self._worlds if key[0] == backend]:
            del self._worlds[key]
            self._shared.pop(key).close()

    def close(self) -> None:
        for backend in BOTH:
            self.discard(backend)
        self._backing.__exit__()


class Run:
    """One run of a fault. What it finds broken goes into its result."""

    def __init__(self, fault: Fault, backend: str, seed: int, worlds: Worlds, *, quick: bool) -> None:
        self.backend = backend
        self.quick = quick
        self.rng = random.Random(f"{seed} {fault.id} {backend}")
        self.result = Result(fault, backend, seed)
        self.disturbances: list[Disturbance] = []
        self._worlds = worlds
        self._stack = ExitStack()
        self._own: list[World] = []

    @property
    def is_postgresql(self) -> bool:
        return self.backend == POSTGRESQL

    @property
    def world(self) -> World:
        """Return the shared service."""
        return self._worlds.shared(self.backend)

    @property
    def pointed(self) -> World:
        """Return the shared service with the standard points."""
        return self._worlds.shared(self.backend, pointed=True)

    @contextmanager
    def own_world(self, *, disk: Path | None = None, **options: Any) -> Iterator[World]:
        """
        Yield a separate service, for other settings, named points, or what leaves it broken. With `disk` its database
        is on this file system.
        """
        directory = self.new_directory()
        with ExitStack() as stack:
            if disk and self.is_postgresql:
                options["backing"] = stack.enter_context(Backing(directory, disk))
            elif disk:
                options["data_dir"] = disk
            yield stack.enter_context(self._worlds.new(self.backend, directory, **options))

    def new_directory(self) -> Path:
        directory = self._worlds.new_directory(self.backend)
        directory.mkdir(parents=True)
        return directory

    def pick(self, *, quick: int, full: int) -> int:
        return quick if self.quick else full

    def tenant(self, world: World, forms: Sequence[Sequence[str]], **options: Any) -> Tenant:
        prefix = f"/{self.result.fault.id}-{self.rng.getrandbits(32):08x}"
        return world.tenant(prefix, forms, **options)

    def poster(self, world: World, tenant: Tenant, **options: Any) -> Poster:
        poster = Poster(world.port, tenant.key, tenant.forms, self.rng, **options)
        self._stack.callback(poster.close)
        return poster

    def killed(self, at: float) -> None:
        """Note a kill."""
        self.result.kills += 1
        self.disturbances.append(Disturbance.kill(at))

    @contextmanager
    def outage(self) -> Iterator[None]:
        """Note an outage: the time in the block."""
        start = time.time()
        yield
        self.disturbances.append(Disturbance(start, time.time()))

    def expect(self, holds: object, otherwise: str) -> None:
        if not holds:
            self.result.broken.append(otherwise)

    def note(self, text: str) -> None:
        self.result.notes.append(text)

    def drain(self, world: World, tenant: Tenant, poster: Poster, seconds: float) -> Rows:
        """Wait until each submission was accepted and delivered to its healthy endpoints, at most so long."""
        end = time.monotonic() + seconds
        unsettled = poster.settle(seconds)
        self.expect(not unsettled, f"{len(unsettled)} submissions were not accepted within {seconds:g} s")
        rows = world.database.rows(tenant.forms, STUCK_SECONDS)

        def drained() -> bool:
            nonlocal rows
            rows = world.database.rows(tenant.forms, STUCK_SECONDS)
            return is_drained(rows, tenant, poster)

        with suppress(AssertionError):  # the caller judges the rows
            eventually(drained, end - time.monotonic(), every=0.2)
        return rows

    def judge(
        self,
        world: World,
        tenant: Tenant,
        poster: Poster,
        *,
        within: float = 60,
        recovery: float | None = None,
        **options: Any,
    ) -> Verdict:
        """
        Drain, then check the promises, and that recovery took so many seconds at the longest: `recovery_bound`
        unless given.
        """
        options.setdefault("p99_seconds", max(P99_SECONDS, world.start_seconds / 2))
        verdict = judge(self.evidence(world, tenant, poster, within, **options))
        self.result.broken += verdict.broken
        self.result.duplicates += verdict.duplicates
        self.result.recovery = max(self.result.recovery, verdict.recovery)
        self.result.p99 = max(self.result.p99, verdict.p99)
        bound = self.recovery_bound(world) if recovery is None else recovery
        self.expect(verdict.recovery <= bound, f"recovery took {verdict.recovery:.1f} s, at most {bound:.0f}")
        return verdict

    def evidence(self, world: World, tenant: Tenant, poster: Poster, within: float, **options: Any) -> Evidence:
        """Drain, and return what client, receivers and database say."""
        rows = self.drain(world, tenant, poster, within)
        return Evidence(
            poster=poster,
            log=world.receivers.log(),
            rows=rows,
            prefix=tenant.prefix + "/",
            paths=tenant.healthy,
            webhooks=tenant.webhooks,
            disturbances=self.disturbances,
            record_seconds=max(RECORD_SECONDS, world.start_seconds / 2),
            **options,
        )

    def broken_in(self, world: World, tenant: Tenant, poster: Poster, *, within: float) -> list[str]:
        """Return the broken promises, of a guard that breaks them."""
        return judge(self.evidence(world, tenant, poster, within)).broken

    def expect_poison_unsent(
        self, world: World, tenant: Tenant, poster: Poster, poisons: Sequence[Post], **options: Any
    ) -> None:
        """Judge all but these submissions, and expect that these never arrived."""
        keys = {one.key for one in poisons}
        arrived = {one.id for one in world.receivers.log().of(tenant.prefix)}
        self.expect(not arrived & {one.message_id for one in poisons}, "a poison row arrived")
        self.judge(world, tenant, poster, except_keys=keys, **options)

    def latencies(self, world: World, tenant: Tenant, poster: Poster, prefix: str = "") -> list[float]:
        """Return the seconds from each 201 to its first arrival, at paths with this prefix below the tenant's."""
        accepted = poster.accepted
        found = world.receivers.log().by_message_and_path(tenant.prefix + prefix)
        return [
            arrivals[0].arrived - accepted[message_id].accepted
            for (message_id, _), arrivals in found.items()
            if message_id in accepted
        ]

    def recovery_bound(self, world: World) -> float:
        """
        Return lease, sweep, a supervisor's pause and three times the time in which the roles start on this machine,
        with whatever else it does now.
        """
        return LEASE_SECONDS + SWEEP_SECONDS + RESTART_SECONDS + 3 * world.start_seconds

    def restart_p99(self, world: World) -> float:
        """
        Return the bound on submitting where a request waits in the socket's queue for a web process that starts again.

        That is a supervisor's pause and a new interpreter, then the time of any other request. The first start may
        have been a fork, which takes half as long.
        """
        return RESTART_SECONDS + 2 * world.start_seconds + P99_SECONDS

    def forget(self, world: World, tenant: Tenant) -> None:
        """Delete the organization, so that its retries do not meet the next fault."""
        world.application.manage("delete_organization", tenant.slug, "--yes")

    def close(self) -> None:
        self._stack.close()


def is_drained(rows: Rows, tenant: Tenant, poster: Poster) -> bool:
    healthy = set().union(*tenant.healthy.values())
    return (
        set(poster.accepted) <= set(rows.submissions)
        and all(row.is_dispatched for row in rows.submissions.values())
        and not any(tenant.webhooks.get(one.webhook_id) in healthy for one in rows.unfinished)
    )


def run_fault(fault: Fault, backend: str, seed: int, worlds: Worlds, *, quick: bool = False) -> Result:
    """Run it. An exception is a failure too, and a failure discards the shared service."""
    start = time.monotonic()
    run = Run(fault, backend, seed, worlds, quick=quick)
    try:
        fault.function(run)
    except Exception as error:
        first, *more = str(error).splitlines() or [""]
        run.result.broken.append(f"{type(error).__name__}: {' … '.join([first, *more[-1:]])}")
        run.note(traceback.format_exc())
    finally:
        run.close()
    run.result.seconds = time.monotonic() - start
    if run.result.broken:
        worlds.keep_logs(fault.id, backend)
        worlds.discard(backend)
    return run.result


def name_of(backend: str) -> str:
    return NAMES[backend]
