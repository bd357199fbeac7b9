"""An action on everything that a list's filters select: in batches, each its own transaction, for a few seconds."""

import dataclasses
import time
import uuid
from collections.abc import Callable

from submissions.reading.listing import Scope, next_ids

ROWS_A_BATCH = 500
SECONDS_A_REQUEST = 5.0  # then the page reports and continues


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """The result of one request: rows seen, rows changed, and the id below which to go on; None: finished."""

    seen: int
    changed: int
    before: uuid.UUID | None


def take_step(scope: Scope, act: Callable[[list[uuid.UUID]], int], *, before: uuid.UUID) -> Step:
    """
    Act on the rows of a scope with ids below `before`, the newest first, until the time is over.

    Going down by id ends, even where the action changes nothing that the filters look at, and passes over submissions
    that arrive meanwhile.
    """
    start, seen, changed = time.monotonic(), 0, 0
    while True:
        ids = next_ids(scope, before=before, size=ROWS_A_BATCH)
        if ids:
            changed += act(ids)
            seen += len(ids)
            before = ids[-1]
        if len(ids) < ROWS_A_BATCH:
            return Step(seen, changed, None)
        if time.monotonic() - start > SECONDS_A_REQUEST:
            return Step(seen, changed, before)
