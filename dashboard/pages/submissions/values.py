"""The values of a submission as they are shown: addresses, numbers and links that work, long texts folded."""

import dataclasses
import re
from typing import Any
from urllib.parse import quote

from forms_app.field_kinds import FieldType
from forms_app.formats import is_email, is_web_address
from submissions.models import Submission

LONG = 600  # characters, or
LONG_LINES = 12  # of a text that is folded
SHOWN = 280  # characters of a folded one
LEAST_DIGITS = 3  # of a phone number
_NUMBER = re.compile(r"\+?[0-9 ().\-/]{5,30}")
_NO_DIGIT = re.compile(r"[^0-9+]")
_INTERNATIONAL = re.compile(r"\+[1-9][0-9 ().\-/]{5,28}")


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """`link`: a `mailto:`, `tel:`, `http:` or `https:` address, or nothing; `start`: of a text that is folded."""

    name: str
    label: str
    text: str
    link: str = ""
    start: str = ""

    @property
    def is_elsewhere(self) -> bool:
        """Return whether the link leads to another site, which must not learn where it was found."""
        return self.link.startswith("http")


def values_of(submission: Submission) -> list[Value]:
    """Return the values in the order in which they were submitted."""
    fields = {field["name"]: field for field in submission.form.fields}
    return [_value(name, text, fields.get(name, {})) for name, text in submission.data.items()]


def reply_address(submission: Submission) -> str:
    """Return the `mailto:` address that answers the submitter, from the first email address of the values; or ""."""
    address = next((text for text in submission.data.values() if is_email(text)), "")
    subject = quote(f"Re: {submission.form.name}")
    return f"{_mail_link(address)}?subject={subject}" if address else ""


def _value(name: str, text: str, field: dict[str, Any]) -> Value:
    is_long = len(text) > LONG or text.count("\n") >= LONG_LINES
    start = "\n".join(text[:SHOWN].splitlines()[:LONG_LINES]) if is_long else ""
    return Value(name, field.get("label", name), text, "" if is_long else _link(text, field.get("type", "")), start)


def _link(text: str, kind: str) -> str:
    if is_email(text):
        return _mail_link(text)
    if is_web_address(text):
        return text
    pattern = _NUMBER if kind == FieldType.PHONE else _INTERNATIONAL
    digits = _NO_DIGIT.sub("", text)
    return f"tel:{digits}" if pattern.fullmatch(text) and len(digits) >= LEAST_DIGITS else ""


def _mail_link(address: str) -> str:
    """Return the link to an address, in which no `?` or `&` begins headers such as `bcc` (RFC 6068)."""
    return f"mailto:{quote(address, safe='@')}"
