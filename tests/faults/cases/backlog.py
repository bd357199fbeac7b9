"""A backlog of thousands, with workers started after it, and polls of a long log (F8)."""

import json
import time
from collections import defaultdict

from tests.faults.case import Run, fault
from tests.faults.cases.receivers import delivering_memory
from tests.faults.world import World
from tests.services.environment import POSTGRESQL
from tests.services.waiting import eventually

ENDPOINTS = 20
RATE = 50.0  # deliveries a second on two cores that also run the database and the receivers
MEMORY_BYTES = 50 << 20
PLACES = 60  # by which a message may come earlier or later than by its due time, among those of its endpoint
FINISHED = 1_000_000  # rows of the log
POLL_SECONDS = 0.05
_ADD = f"from tests.faults import arrangement; arrangement.add_finished({FINISHED})"
_TIME = "from tests.faults import arrangement; arrangement.time_polls(5)"
_FILL = "from tests.faults import arrangement; arrangement.fill({forms!r}, {count})"


@fault("F8", "10,000 submissions wait for workers", on=[POSTGRESQL])
def backlog(run: Run) -> None:
    count = run.pick(quick=1_000, full=10_000)
    with run.own_world() as world:
        tenant = run.tenant(world, [[f"/{number}"] for number in range(ENDPOINTS)])
        with world.unsupervised() as roles:
            for role in ("beat", "worker"):
                roles.pop(role).stop()
        command = _FILL.format(forms=tenant.forms, count=count)
        world.application.manage("shell", "--verbosity", "0", "--command", command)
        for role in ("worker", "beat"):
            world.application.start_role(role)
        eventually(lambda: world.receivers.log().of(tenant.prefix), 60, "the first delivery arrives")
        first = time.time()
        # From a fifth on: all modules are loaded by then, and all threads run.
        eventually(lambda: len(world.receivers.log().of(tenant.prefix)) > count / 5, 60, "a fifth has arrived")
        grown = wait_until_drained(world, tenant.prefix, count, delivering_memory(world))
        rate = count / (time.time() - first)
        places = displacement(world, tenant.prefix)
        run.note(f"{rate:.0f} a second, memory {grown / (1 << 20):+.0f} MiB, order within {places} places")
        found = world.receivers.log().by_message_and_path(tenant.prefix)
        run.result.duplicates = sum(len(arrivals) - 1 for arrivals in found.values())
        run.expect(not run.result.duplicates, f"{run.result.duplicates} came twice, and nothing was killed")
        run.expect(rate >= RATE, f"{rate:.0f} deliveries a second, at least {RATE:g}")
        run.expect(grown <= MEMORY_BYTES, f"memory grew by {grown / (1 << 20):.0f} MiB")
        run.expect(places <= PLACES, f"a message came {places} places from its order, at most {PLACES}")
        time_polls(run, world)


def time_polls(run: Run, world: World) -> None:
    """Expect that a poll which finds nothing costs little, however long the log is."""
    shell = ("shell", "--verbosity", "0", "--command")
    world.application.manage(*shell, _ADD)
    polls: dict[str, float] = json.loads(world.application.manage(*shell, _TIME))
    slowest = max(polls, key=lambda name: polls[name])
    run.note(f"slowest poll with {FINISHED:,} finished rows {1000 * polls[slowest]:.1f} ms ({slowest})")
    run.expect(
        polls[slowest] <= POLL_SECONDS, f"a poll took {polls[slowest]:.3f} s ({slowest}), at most {POLL_SECONDS:g}"
    )


def wait_until_drained(world: World, prefix: str, count: int, memory: int) -> int:
    """Return by how many bytes the delivering processes grew at the most."""
    most = memory

    def drained() -> bool:
        nonlocal most
        most = max(most, delivering_memory(world))
        seen = len({one.id for one in world.receivers.log().of(prefix)})
        assert seen == count, f"{seen} of {count} have arrived"
        return True

    eventually(drained, count / RATE + 60, "the backlog is drained", every=0.5)
    return most - memory


def displacement(world: World, prefix: str) -> int:
    """Return how far a message was from its place in the order of due times, which is that of the ids."""
    by_path = defaultdict(list)
    for arrival in world.receivers.log().of(prefix):
        by_path[arrival.path].append(arrival.id)
    return max(abs(place - ids.index(pk)) for ids in by_path.values() for place, pk in enumerate(sorted(ids)))
