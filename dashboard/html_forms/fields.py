"""
The rows of the form builder: the fields of a form while a user edits them.

The page carries all fields, saved or not. A repeated input `row` gives the order, and the names of a row's inputs end
in its key. So every button can be a plain submit button, and no input is lost when a value is wrong.
"""

import dataclasses
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict

from config.api.errors import ValidationFailed
from config.api.serializers import validate
from dashboard.html_forms.forms import lines
from dashboard.html_forms.row_form import RowForm
from forms_app.field_definitions import MAX_FIELDS
from forms_app.field_kinds import FieldKind, FieldType, find_kind, kind_of
from forms_app.serializers import FormChanges


@dataclasses.dataclass(slots=True)
class FieldRow:
    """One field in the builder. `options`: one per line; `errors`: messages by the name of the input."""

    key: str
    label: str = ""
    type: str = FieldType.TEXT.value
    name: str = ""
    required: bool = False
    options: str = ""
    placeholder: str = ""
    help: str = ""
    errors: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def kind(self) -> FieldKind:
        """The kind of the field; Text for an unknown type."""
        return find_kind(self.type) or kind_of(FieldType.TEXT)

    @property
    def inputs(self) -> RowForm:
        """The row's inputs, for the template."""
        return RowForm(self.key, dataclasses.asdict(self), self.errors)

    def definition(self) -> dict[str, Any]:
        """Return the field in the format of the API."""
        definition: dict[str, Any] = {"label": self.label, "type": self.type, "required": self.required}
        options = lines(self.options)
        if self.kind.takes_options and (options or self.kind.needs_options):
            definition["options"] = options
        if self.name.strip():
            definition["name"] = self.name.strip()
        if self.placeholder.strip():
            definition["placeholder"] = self.placeholder.strip()
        if self.help.strip():
            definition["help"] = self.help.strip()
        return definition


def rows_of(fields: Sequence[Mapping[str, Any]]) -> list[FieldRow]:
    """Return the rows of saved fields."""
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
        )
        for place, field in enumerate(fields)
    ]


def rows_entered(posted: QueryDict) -> list[FieldRow]:
    """Return the rows of a posted page, in its order."""
    rows = []
    for key in dict.fromkeys(posted.getlist("row")[: MAX_FIELDS + 1]):
        row = FieldRow(key=key[:40], required=f"required-{key}" in posted)
        for name in ("label", "type", "name", "options", "placeholder", "help"):
            setattr(row, name, posted.get(f"{name}-{key}", ""))
        rows.append(row)
    return rows


def change_rows(rows: list[FieldRow], act: str, new_type: str) -> str:
    """Apply a button (`add`, `up:KEY`, `down:KEY`, `remove:KEY`); return a sentence for screen readers."""
    verb, _, key = act.partition(":")
    if verb == "add":
        kind = find_kind(new_type) or kind_of(FieldType.TEXT)
        rows.append(FieldRow(key=f"n{secrets.token_hex(4)}", label=kind.new_label, type=kind.name))
        return f"{rows[-1].label} added as field {len(rows)}."
    place = next((number for number, row in enumerate(rows) if row.key == key), None)
    if place is None:
        return ""
    row = rows.pop(place)
    if verb == "remove":
        return f"{row.label} removed. {len(rows)} fields left."
    target = {"up": max(0, place - 1), "down": place + 1}.get(verb, place)
    rows.insert(target, row)
    return f"{row.label}, now {min(target, len(rows) - 1) + 1} of {len(rows)}."


def definitions(rows: Sequence[FieldRow]) -> list[dict[str, Any]]:
    """Return the fields for `change_form`. Raises ValidationFailed, and adds each error to its row."""
    try:
        fields: list[dict[str, Any]] = validate(FormChanges(data={"fields": [row.definition() for row in rows]}))[
            "fields"
        ]
    except ValidationFailed as failure:
        show_details(rows, failure)
        raise
    return fields


def show_details(rows: Sequence[FieldRow], failure: ValidationFailed) -> None:
    """Add the details of a failure to their rows."""
    for detail in failure.details:
        parts = detail.field.split(".")  # fields.0.label, fields.2.options.1
        if len(parts) > 2 and parts[1].isdecimal() and int(parts[1]) < len(rows):
            rows[int(parts[1])].errors.setdefault(parts[2], detail.message)
