"""The columns of a list of submissions: the fields of its form, then other names in the rows."""

import dataclasses
from collections.abc import Sequence

from forms_app.models import Form
from submissions.models import Submission

MAX_COLUMNS = 5
MAX_CELL = 200  # characters of a value in a list; the live stream sends as many
MAX_SUMMARY = 3  # values of a row in a list of several forms, which has no columns


@dataclasses.dataclass(frozen=True, slots=True)
class TableRow:
    """A submission; `cells`: `(name, value)` in the order of the columns; `hidden`: the number of other values."""

    submission: Submission
    cells: list[tuple[str, str]]
    hidden: int


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """`columns`: `(name, label)`; empty for rows of several forms, which show their first values instead."""

    columns: list[tuple[str, str]]
    rows: list[TableRow]

    @classmethod
    def of(cls, rows: Sequence[Submission], form: Form | None) -> "Table":
        """Return the table of one page of a list; `form` None: of several forms."""
        columns = _columns(rows, form) if form else []
        names = [name for name, _ in columns]
        return cls(columns, [_row(row, names if form else None) for row in rows])


def _columns(rows: Sequence[Submission], form: Form) -> list[tuple[str, str]]:
    columns = {field["name"]: field["label"] for field in form.fields}
    for row in rows:
        for name in row.data:
            columns.setdefault(name, name)
    return list(columns.items())[:MAX_COLUMNS]


def _row(row: Submission, names: list[str] | None) -> TableRow:
    chosen = list(row.data)[:MAX_SUMMARY] if names is None else names
    cells = [(name, row.data.get(name, "")[:MAX_CELL]) for name in chosen]
    return TableRow(row, cells, hidden=sum(1 for name in row.data if name not in chosen))
