"""The inputs of a hosted form page: field definitions, typed values and errors -> controls to draw."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from config.api.errors import Detail
from forms_app.field_kinds import FieldType, kind_of

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
    """One input, or group of checkboxes. `kind`: how it is drawn. `values`: its current values."""

    id: str
    name: str
    label: str
    kind: str
    input_type: str
    required: bool
    placeholder: str
    options: Sequence[str]
    values: Sequence[str]
    errors: Sequence[str]
    autocomplete: str

    @property
    def value(self) -> str:
        """The one value."""
        return self.values[0] if self.values else ""

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
    return [_control(number, field, typed, problems) for number, field in enumerate([*fields, *extra], start=1)]


def _control(number: int, field: Mapping[str, Any], typed: Mapping[str, Any], problems: Sequence[Detail]) -> Control:
    name, kind, options = field["name"], kind_of(field["type"]), field.get("options", [])
    return Control(
        id=f"field-{number}",
        name=name,
        label=field["label"],
        kind="group" if kind.control == "checkbox" and options else kind.control,
        input_type=kind.input_type,
        required=field["required"],
        placeholder=field.get("placeholder", ""),
        options=options,
        values=_as_list(typed.get(name)),
        errors=[problem.sentence for problem in problems if problem.field == name],
        autocomplete=AUTOCOMPLETE.get(name.lower().replace("-", "_"), ""),
    )


def _as_list(value: Any) -> list[str]:
    members = value if isinstance(value, list) else [value]
    return [str(member) for member in members if member not in (None, "")]
