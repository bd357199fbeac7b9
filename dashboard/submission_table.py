"""Which columns a list of submissions has: those of its form, then what the rows themselves bring."""

import dataclasses
from collections.abc import Sequence

from forms_app.models import Form
from submissions.models import Submission

MAX_COLUMNS = 5
MAX_CELL = 200  # characters of a value that a list shows; live rows bring as many
GLANCE = 3  # values of a row where forms with different names stand in one list


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A submission with its cells in the order of the table's columns."""

    submission: Submission
    cells: list[tuple[str, str]]
    hidden: int


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """`columns`: `(name, label)`; none where rows of several forms stand together and show themselves at a glance."""

    columns: list[tuple[str, str]]
    rows: list[Row]

    @classmethod
    def of(cls, rows: Sequence[Submission], form: Form | None) -> "Table":
        """Return the table of a page of the list, of one form or (None) of several."""
        columns = _columns(rows, form) if form else []
        names = [name for name, _ in columns]
        return cls(columns, [_row(row, names if form else None) for row in rows])


def _columns(rows: Sequence[Submission], form: Form) -> list[tuple[str, str]]:
    columns = {field["name"]: field["label"] for field in form.fields}
    for row in rows:
        for name in row.data:
            columns.setdefault(name, name)
    return list(columns.items())[:MAX_COLUMNS]


def _row(row: Submission, names: list[str] | None) -> Row:
    chosen = list(row.data)[:GLANCE] if names is None else names
    cells = [(name, row.data.get(name, "")[:MAX_CELL]) for name in chosen]
    return Row(row, cells, hidden=sum(1 for name in row.data if name not in chosen))
