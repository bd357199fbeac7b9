"""The inputs of a hosted form page: field definitions, typed values and errors -> controls to draw."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from config.api.errors import Detail
from forms_app.field_kinds import FieldType, kind_of
from forms_app.file_fields.entries import accept_attribute, limits_for_people, takes_several

# Values of `autocomplete` (WCAG 2.2, 1.3.5) by the field's name.
AUTOCOMPLETE = {
    "name": "name",
    "first_name": "given-name",
    "last_name": "family-name",
    "email": "email",
    "phone": "tel",
    "company": "organization",
    "website": "url",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Control:
    """
    One input, or group of checkboxes. `kind`: how it is drawn. `values`: its current values.

    `direction`: the `dir` of an input: free text has that of its first letter, addresses and numbers are left to right.
    `limits`: a sentence about the files that it takes; `accept`, `multiple`: the attributes that say so to the browser.
    """

    id: str
    name: str
    label: str
    kind: str
    input_type: str
    required: bool
    placeholder: str
    help: str
    options: Sequence[str]
    values: Sequence[str]
    errors: Sequence[str]
    autocomplete: str
    direction: str = ""
    limits: str = ""
    accept: str = ""
    multiple: bool = False

    @property
    def value(self) -> str:
        return self.values[0] if self.values else ""

    @property
    def described_by(self) -> str:
        """The ids of its help, its limits and its errors, for `aria-describedby`."""
        parts = [("help", self.help), ("limits", self.limits), ("error", self.errors)]
        return " ".join(f"{self.id}-{part}" for part, text in parts if text)

    @property
    def is_ticked(self) -> bool:
        """Whether a single checkbox was checked."""
        return bool(self.value)


def controls_of(
    fields: Sequence[Mapping[str, Any]], typed: Mapping[str, Any], problems: Sequence[Detail] = ()
) -> list[Control]:
    """
    Return the controls of a page, in the form's order, then one for every other name that was typed.

    `typed`: a parsed body without its control fields. The error page shows all of it, so that a visitor loses nothing.
    """
    declared = {field["name"] for field in fields}
    extra = [
        {"name": name, "label": name, "type": FieldType.TEXTAREA, "required": False}
        for name in typed
        if name not in declared
    ]
    drawn = [
        (field, values) for field in [*fields, *extra] for values in _inputs(field, as_list(typed.get(field["name"])))
    ]
    return [_control(number, field, values, problems) for number, (field, values) in enumerate(drawn, start=1)]


def _inputs(field: Mapping[str, Any], values: list[str]) -> list[list[str]]:
    """Return the values of each input to draw: one input for each value, or for all of them where it takes several."""
    takes_several = kind_of(field["type"]).control in ("checkbox", "select", "file")
    return [values] if takes_several or not values else [[value] for value in values]


def _control(number: int, field: Mapping[str, Any], values: Sequence[str], problems: Sequence[Detail]) -> Control:
    name, kind, options = field["name"], kind_of(field["type"]), field.get("options", [])
    return Control(
        id=f"field-{number}",
        name=name,
        label=field["label"],
        kind="group" if kind.control == "checkbox" and options else kind.control,
        input_type=kind.input_type,
        required=field["required"],
        placeholder=field.get("placeholder", ""),
        help=field.get("help", ""),
        options=options,
        values=values,
        errors=[problem.sentence for problem in problems if problem.field == name],
        autocomplete=AUTOCOMPLETE.get(name.lower().replace("-", "_"), ""),
        direction=kind.direction,
        limits=limits_for_people(field) if kind.takes_files else "",
        accept=accept_attribute(field).get("accept", ""),
        multiple=takes_several(field),
    )


def as_list(value: Any) -> list[str]:
    """Return the texts of a typed value, blank ones left out."""
    members = value if isinstance(value, list) else [value]
    return [str(member) for member in members if member not in (None, "")]
