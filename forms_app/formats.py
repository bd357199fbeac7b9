"""The formats of submitted values: one predicate for each, over a stripped string."""

import re
from collections.abc import Callable

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator, URLValidator

from config.times import parse_date

# Only one way to match: `\d+\.?\d*` would try every split of a long run of digits, in quadratic time.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_email = EmailValidator()
_url = URLValidator(schemes=["http", "https"])


def is_email(value: str) -> bool:
    """Return whether a text is an email address."""
    return _passes(_email, value)


def is_web_address(value: str) -> bool:
    """Return whether a text is an http or https URL."""
    return _passes(_url, value)


def is_number(value: str) -> bool:
    """Return whether a text is a number: every spelling of JSON, and also `+1`, `1.` and `.5`."""
    return _NUMBER.fullmatch(value) is not None


def is_date(value: str) -> bool:
    """Return whether a text is a day of the form YYYY-MM-DD."""
    return parse_date(value) is not None


def _passes(validator: Callable[[str], None], value: str) -> bool:
    try:
        validator(value)
    except ValidationError:
        return False
    return True
