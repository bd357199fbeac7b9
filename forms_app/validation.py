"""Checks submitted values against a form's declared fields. Pure: strings in, details out (docs/contract.md 5)."""

from collections.abc import Iterator, Mapping, Sequence

from config.api.errors import Detail
from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import KINDS


def check_values(
    fields: Sequence[FieldDefinition], values: Mapping[str, str], lists: Mapping[str, Sequence[str]]
) -> Iterator[Detail]:
    """
    Yield a Detail for each declared field with an invalid value, in the form's order.

    `values` are the stored strings; `lists` the members of those that came as a list. Blank optional values pass.
    """
    for field in fields:
        members = lists.get(field["name"], [values.get(field["name"], "")])
        if any(member.strip() for member in members):
            problem = _problem(field, members)
        else:
            problem = ("required", "is required") if field["required"] else None
        if problem:
            yield Detail(field["name"], problem[0], f"{field['label']} {problem[1]}.", has_subject=True)


def _problem(field: FieldDefinition, members: Sequence[str]) -> tuple[str, str] | None:
    kind = KINDS[field["type"]]
    if kind.needs_options:
        known = frozenset(field.get("options", ()))  # a list of 200 would be compared with each of many members
        good = all(member.strip() in known or member in known for member in members if member)
        return None if good else ("invalid_choice", "must be one of its options")
    if kind.check is None or all(kind.check.passes(member.strip()) for member in members if member):
        return None
    return kind.check.code, kind.check.advice
