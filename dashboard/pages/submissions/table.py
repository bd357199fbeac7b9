"""The columns of a list of submissions: those that the user chose, or the fields of the form and names in the rows."""

import dataclasses
from collections.abc import Sequence

from forms_app.models import Form
from submissions.models import Submission

MAX_COLUMNS = 5  # unless the user chose some
MAX_OFFERED = 60  # names to choose from
MAX_CELL = 200  # characters of a value in a list
MAX_SUMMARY = 3  # values of a row in a list of several forms, which has no columns


@dataclasses.dataclass(frozen=True, slots=True)
class TableRow:
    """
    A submission; `cells`: `(name, value)` in the order of the columns; `hidden`: the number of other values.

    `files`: the names of its files, cut to MAX_CELL characters. `form`: the name of its form, in a list of several.
    """

    submission: Submission
    cells: list[tuple[str, str]]
    hidden: int
    files: str = ""
    form: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """
    `columns`: `(name, label)`; empty for rows of several forms, which show their first values instead.

    `offered`: `(name, label, is_shown)` of each column to choose from, the shown ones first.
    """

    columns: list[tuple[str, str]]
    rows: list[TableRow]
    offered: list[tuple[str, str, bool]]

    @classmethod
    def of(cls, rows: Sequence[Submission], form: Form | None, chosen: Sequence[str] | None = None) -> "Table":
        """Return the table of one page of a list; `form` None: of several forms; `chosen`: names of its columns."""
        if form is None:
            forms = Form.objects.filter(pk__in={row.form_id for row in rows})
            names_of = dict(forms.values_list("pk", "name"))
            return cls([], [_row(row, None, names_of.get(row.form_id, "")) for row in rows], [])
        labels = _labels(rows, form, chosen or ())
        names = [name for name in chosen if name in labels] if chosen is not None else list(labels)[:MAX_COLUMNS]
        order = dict.fromkeys([*names, *labels])
        return cls(
            [(name, labels[name]) for name in names],
            [_row(row, names) for row in rows],
            [(name, labels[name], name in names) for name in order][:MAX_OFFERED],
        )


def _labels(rows: Sequence[Submission], form: Form, chosen: Sequence[str]) -> dict[str, str]:
    """Return the labels of the form's fields and of other names. A form without fields keeps every chosen name."""
    labels = {field["name"]: field["label"] for field in form.fields}
    for name in () if labels else chosen:
        labels.setdefault(name, name)
    for row in rows:
        for name in row.data:
            labels.setdefault(name, name)
    return labels


def _row(row: Submission, names: list[str] | None, form: str = "") -> TableRow:
    chosen = list(row.data)[:MAX_SUMMARY] if names is None else names
    cells = [(name, row.data.get(name, "")[:MAX_CELL]) for name in chosen]
    files = ", ".join(file.name for file in row.files)
    shortened = files if len(files) <= MAX_CELL else f"{files[:MAX_CELL]}…"
    return TableRow(row, cells, hidden=sum(1 for name in row.data if name not in chosen), files=shortened, form=form)
