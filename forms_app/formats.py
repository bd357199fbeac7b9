"""
The formats of submitted values: one predicate for each, over a stripped string.

A page checks its inputs first, so what browsers take is taken: https://html.spec.whatwg.org/#valid-e-mail-address,
https://url.spec.whatwg.org/#url-parsing.
"""

import re

import can_ada
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.encoding import punycode

from config.base.times import parse_date

# Only one way to match: `\d+\.?\d*` would try every split of a long run of digits, in quadratic time.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
# Browsers' pattern with a dot in the domain; the most characters of each part are those of RFC 5321.
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})+", re.ASCII | re.IGNORECASE)
_MOST_OF_AN_EMAIL = 254  # characters
_HTTP_URL = re.compile(r"https?://[^\x00-\x1f\x7f]++", re.IGNORECASE)
_url = URLValidator(schemes=["http", "https"])


def is_email(value: str) -> bool:
    """Return whether a text is an email address, as browsers take it; its domain may be in any script."""
    if len(value) > _MOST_OF_AN_EMAIL:
        return False
    if not value.isascii():
        name, at, domain = value.rpartition("@")
        try:
            value = f"{name}{at}{punycode(domain)}"
        except UnicodeError:
            return False
    return len(value) <= _MOST_OF_AN_EMAIL and _EMAIL.fullmatch(value) is not None


def is_url(value: str) -> bool:
    """Return whether a text is an http or https URL, as browsers take it; blanks may be in its path."""
    return _HTTP_URL.fullmatch(value) is not None and can_ada.can_parse(value)


def is_web_address(value: str) -> bool:
    """Return whether a text is an http or https URL of a public host, which may be made a link."""
    try:
        _url(value)
    except ValidationError:
        return False
    return True


def is_number(value: str) -> bool:
    """Return whether a text is a number: every spelling of JSON, and also `+1`, `1.` and `.5`."""
    return _NUMBER.fullmatch(value) is not None


def is_date(value: str) -> bool:
    """Return whether a text is a day of the form YYYY-MM-DD."""
    return parse_date(value) is not None
