"""Do submitted values fit a form's declared fields? Pure: strings in, details out (CONTRACT section 5)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator, URLValidator

from config.api.errors import Detail
from config.times import parse_date
from forms_app.field_definitions import FieldDefinition, FieldType

# Only one way to match: `\d+\.?\d*` would try every split of a long run of digits, in quadratic time.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_email = EmailValidator()
_url = URLValidator(schemes=["http", "https"])


def _passes(validator: Callable[[str], None], value: str) -> bool:
    try:
        validator(value)
    except ValidationError:
        return False
    return True


def _is_date(value: str) -> bool:
    return parse_date(value) is not None


# type -> (code, what to do, check)
CHECKS: dict[str, tuple[str, str, Callable[[str], bool]]] = {
    FieldType.EMAIL: ("invalid_email", "must be an email address", lambda value: _passes(_email, value)),
    FieldType.URL: ("invalid_url", "must be a URL that begins with http:// or https://", lambda v: _passes(_url, v)),
    FieldType.NUMBER: ("invalid_number", "must be a number", lambda value: bool(_NUMBER.fullmatch(value))),
    FieldType.DATE: ("invalid_date", "must be a date in the form YYYY-MM-DD", _is_date),
}


def check_values(
    fields: Sequence[FieldDefinition], values: Mapping[str, str], lists: Mapping[str, Sequence[str]]
) -> Iterator[Detail]:
    """
    Yield a Detail for each declared field that its value does not fit, in the form's order.

    `values` are the stored strings; `lists` the members of those that came as a list. Blank optional values pass.
    """
    for field in fields:
        members = lists.get(field["name"], [values.get(field["name"], "")])
        if any(member.strip() for member in members):
            problem = _problem(field, members)
        else:
            problem = ("required", "is required") if field["required"] else None
        if problem:
            yield Detail(field["name"], problem[0], f"{field['label']} {problem[1]}.")


def _problem(field: FieldDefinition, members: Sequence[str]) -> tuple[str, str] | None:
    if field["type"] == FieldType.SELECT:
        known = field.get("options", [])
        good = all(member.strip() in known or member in known for member in members if member)
        return None if good else ("invalid_choice", "must be one of its options")
    code, advice, check = CHECKS.get(field["type"], ("", "", lambda value: True))
    return None if all(check(member.strip()) for member in members if member) else (code, advice)


def is_web_address(value: str) -> bool:
    """Tell whether a text is an http or https URL."""
    return _passes(_url, value)
