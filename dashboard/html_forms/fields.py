"""
The rows of the form builder: the fields of a form while a user edits them.

The page carries all fields, saved or not. A repeated input `row` gives the order, and the names of a row's inputs end
in its key. So every button can be a plain submit button, and no input is lost when a value is wrong.
"""

import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext, ngettext

from config.api.errors import ValidationFailed
from config.api.serializers import validate
from dashboard.html_forms import file_inputs
from dashboard.html_forms.forms import lines
from dashboard.html_forms.row_form import RowForm
from forms_app.document.bodies import FormChanges
from forms_app.field_definitions import MAX_FIELDS, MAX_LABEL
from forms_app.field_kinds import FieldKind, FieldType, find_kind, kind_of

MAX_ROWS = 2 * MAX_FIELDS  # of a posted page, removed fields included
TEXTS = ("label", "type", "name", "options", "placeholder", "help", "other_types", "max_files", "max_size")


@dataclasses.dataclass(slots=True, eq=False)
class FieldRow:
    """
    One field in the builder. `options`: one per line; `errors`: messages by the name of the input.

    `accept`: names of PRESETS; `other_types`: more entries of `accept`; `max_size`: of a file, in MiB.
    `is_removed`: a line with Undo in the field's place, until the fields are saved.
    """

    key: str
    label: str = ""
    type: str = FieldType.TEXT.value
    name: str = ""
    required: bool = False
    options: str = ""
    placeholder: str = ""
    help: str = ""
    accept: list[str] = dataclasses.field(default_factory=list)
    other_types: str = ""
    max_files: str = "1"
    max_size: str = "10"
    is_removed: bool = False
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def kind(self) -> FieldKind:
        """The kind of the field; Text for an unknown type."""
        return find_kind(self.type) or kind_of(FieldType.TEXT)

    @property
    def inputs(self) -> RowForm:
        return RowForm(self.key, dataclasses.asdict(self), self.errors)

    def definition(self) -> dict[str, Any]:
        """Return the field in the format of the API."""
        definition: dict[str, Any] = {"label": self.label, "type": self.type, "required": self.required}
        options = lines(self.options)
        if self.kind.takes_options and (options or self.kind.needs_options):
            definition["options"] = options
        if self.kind.takes_files:
            definition |= file_inputs.definition_of(self.accept, self.other_types, self.max_files, self.max_size)
        texts = {"name": self.name.strip(), "placeholder": self.placeholder.strip(), "help": self.help.strip()}
        return definition | {name: text for name, text in texts.items() if text}

    def drawable(self) -> dict[str, Any]:
        """Return the definition for a preview: limits of files that the API would refuse are left out."""
        definition = self.definition()
        return definition | file_inputs.drawable(definition) if self.kind.takes_files else definition


def rows_of(fields: Sequence[Mapping[str, Any]]) -> list[FieldRow]:
    return [
        FieldRow(
            key=f"k{place}",
            label=field["label"],
            type=field["type"],
            name=field["name"],
            required=field["required"],
            options="\n".join(field.get("options", [])),
            placeholder=field.get("placeholder", ""),
            help=field.get("help", ""),
            **file_inputs.values_of(field),
        )
        for place, field in enumerate(fields)
    ]


def rows_entered(posted: QueryDict) -> list[FieldRow]:
    """Return the rows of a posted page, in its order."""
    rows, removed = [], set(posted.getlist("removed"))
    for key in dict.fromkeys(posted.getlist("row")[:MAX_ROWS]):
        # A checkbox is there if it is ticked; the hidden input of a removed field says it.
        required = posted.get(f"required-{key}", "False") != "False"
        texts: dict[str, Any] = {name: posted.get(f"{name}-{key}", "") for name in TEXTS}
        accept = [name for name in posted.getlist(f"accept-{key}") if name in file_inputs.PRESETS]
        rows.append(FieldRow(key[:40], required=required, accept=accept, is_removed=key in removed, **texts))
    return rows


def kept(rows: Sequence[FieldRow]) -> list[FieldRow]:
    """Return the rows that are not removed."""
    return [row for row in rows if not row.is_removed]


def change_rows(rows: list[FieldRow], act: str, new_type: str) -> str:
    """Apply a button: `add`, or one of CHANGES with the row's key. Return a sentence for screen readers."""
    verb, _, key = act.partition(":")
    if verb == "add":
        kind = find_kind(new_type) or kind_of(FieldType.TEXT)
        rows.append(FieldRow(key=_new_key(), label=str(kind.new_label), type=kind.name))
        values = {"label": rows[-1].label, "place": len(kept(rows))}
        return gettext("%(label)s added as field %(place)s.") % values
    row = next((row for row in rows if row.key == key), None)
    change = CHANGES.get(verb)
    return change(rows, row) if row is not None and change is not None else ""


def _new_key() -> str:
    return f"n{secrets.token_hex(4)}"


def _move(rows: list[FieldRow], row: FieldRow, steps: int) -> str:
    others = kept(rows)
    place = others.index(row) + steps if row in others else -1
    if 0 <= place < len(others):
        target = rows.index(others[place])
        rows.remove(row)
        rows.insert(target, row)
    return _where(rows, row)


def _where(rows: list[FieldRow], row: FieldRow) -> str:
    others = kept(rows)
    if row not in others:
        return ""
    values = {"label": row.label, "place": others.index(row) + 1, "count": len(others)}
    return gettext("%(label)s, now %(place)s of %(count)s.") % values


def _copy(rows: list[FieldRow], row: FieldRow) -> str:
    named = gettext("%(label)s copy")
    label = named % {"label": row.label[: MAX_LABEL - len(named % {"label": ""})]}
    copy = dataclasses.replace(row, key=_new_key(), name="", label=label, is_removed=False, errors={})
    rows.insert(rows.index(row) + 1, copy)
    return f"{gettext('%(label)s duplicated.') % {'label': row.label}} {_where(rows, copy)}"


def _remove(rows: list[FieldRow], row: FieldRow) -> str:
    row.is_removed = True
    count = len(kept(rows))
    return ngettext(
        "%(label)s removed. %(count)s fields left. Undo is in its place.",
        "%(label)s removed. %(count)s fields left. Undo is in its place.",
        count,
    ) % {"label": row.label, "count": count}


def _restore(rows: list[FieldRow], row: FieldRow) -> str:
    row.is_removed = False
    return f"{gettext('%(label)s is back.') % {'label': row.label}} {_where(rows, row)}"


CHANGES: Mapping[str, Callable[[list[FieldRow], FieldRow], str]] = {
    "up": lambda rows, row: _move(rows, row, -1),
    "down": lambda rows, row: _move(rows, row, 1),
    "copy": _copy,
    "remove": _remove,
    "restore": _restore,
}


def definitions(rows: Sequence[FieldRow]) -> list[dict[str, Any]]:
    """Return the kept fields for `change_form`. Raises ValidationFailed, and adds each error to its row."""
    saved = kept(rows)
    try:
        changes = validate(FormChanges(data={"fields": [row.definition() for row in saved]}))
    except ValidationFailed as failure:
        for detail in failure.details:
            match detail.field.split("."):  # fields.0.label, fields.2.options.1
                case _, place, name, *_ if place.isdecimal() and int(place) < len(saved):
                    message = str(file_inputs.MESSAGES.get(name, detail.message))
                    saved[int(place)].errors.setdefault(file_inputs.INPUTS.get(name, name), message)
        raise
    return list(changes["fields"])
