"""Checks submitted values against a form's declared fields. Pure: strings in, details out (docs/contract.md 5)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from config.api.errors import Detail
from forms_app.field_definitions import FieldDefinition
from forms_app.field_kinds import KINDS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# By the code of the error, with a place for the field's label.
MESSAGES: Mapping[str, "StrOrPromise"] = {
    "required": gettext_lazy("%(label)s is required."),
    "invalid_choice": gettext_lazy("%(label)s must be one of its options."),
}


def value_message(code: str) -> "StrOrPromise | None":
    """Return the message of a wrong value of a declared field, with a place for the `label`, if this is its code."""
    checks = (kind.check for kind in KINDS.values() if kind.check)
    return MESSAGES.get(code) or next((check.message for check in checks if check.code == code), None)


def check_values(
    fields: Sequence[FieldDefinition],
    values: Mapping[str, str],
    lists: Mapping[str, Sequence[str]],
    sent_files: Collection[str] = (),
) -> Iterator[Detail]:
    """
    Yield a Detail for each declared field with an invalid value, in the form's order.

    `values` are the stored strings; `lists` the members of those that came as a list. Blank optional values pass.
    `sent_files`: the names of inputs that came with files, which `submissions.files.checks` checks.
    """
    for field in fields:
        members = lists.get(field["name"], [values.get(field["name"], "")])
        if any(member.strip() for member in members):
            code = _problem(field, members)
        else:
            is_sent = field["name"] in sent_files and KINDS[field["type"]].takes_files
            code = "required" if field["required"] and not is_sent else None
        if code:
            yield Detail(field["name"], code, str(value_message(code)) % {"label": field["label"]}, has_subject=True)


def _problem(field: FieldDefinition, members: Sequence[str]) -> str | None:
    """Return the code of the error, or None."""
    kind = KINDS[field["type"]]
    if kind.needs_options:
        known = frozenset(field.get("options", ()))  # a list of 200 would be compared with each of many members
        good = all(member.strip() in known or member in known for member in members if member)
        return None if good else "invalid_choice"
    if kind.check is None or all(kind.check.passes(member.strip()) for member in members if member):
        return None
    return kind.check.code
