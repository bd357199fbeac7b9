"""Import a whole file, in batches of what one call takes. Stopped and run again, it goes on where it was."""

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from forms_app.models import Form
from submissions.importing.mapping import Columns, NoTime
from submissions.importing.rows import MAX_ROWS, Problem
from submissions.importing.store import import_rows
from submissions.models import Import

MAX_BATCH = 2 * 1024 * 1024  # characters of values


@dataclasses.dataclass(slots=True)
class Progress:
    """The outcome of a file so far. `read`: how many of its records. `refused`: how many have a problem."""

    read: int = 0
    imported: int = 0
    skipped: int = 0
    refused: int = 0
    import_id: uuid.UUID | None = None


Refused = Callable[[Problem, Mapping[str, Any]], object]


def import_records(
    form: Form,
    records: Iterable[dict[str, Any]],
    columns: Columns,
    *,
    source: str,
    refused: Refused,
    earlier: Import | None = None,
    is_dry: bool = False,
) -> Iterator[Progress]:
    """
    Import the records of a file, in a new or an `earlier` import; yield the progress after each batch, at least once.

    `refused` gets each problem, its `row` counted over the whole file from 0, with its record. Raises what
    `import_rows` and the records do; what was imported until then stays.
    """
    progress = Progress(import_id=earlier.pk if earlier else None)
    for batch in _batches(records):
        rows, places = [], []
        problems = []
        for place, record in enumerate(batch):
            try:
                rows.append(columns.row(record))
                places.append(place)
            except NoTime as error:
                problems.append(Problem(place, "createdAt", "invalid", f"createdAt: {error}"))
        if rows:
            batch_of = Import(pk=progress.import_id) if progress.import_id else None
            outcome = import_rows(form, rows, source=source, earlier=batch_of, is_dry=is_dry)
            problems += [dataclasses.replace(one, row=places[one.row]) for one in outcome.problems]
            progress.import_id = progress.import_id or outcome.import_id
            progress.imported += outcome.imported
            progress.skipped += outcome.skipped
        for problem in sorted(problems, key=lambda one: one.row):
            refused(dataclasses.replace(problem, row=progress.read + problem.row), batch[problem.row])
        progress.refused += len({problem.row for problem in problems})
        progress.read += len(batch)
        yield progress
    if not progress.read:
        yield progress


def _batches(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for record in records:
        batch.append(record)
        size += sum(len(str(value)) for value in record.values())
        if len(batch) == MAX_ROWS or size >= MAX_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
