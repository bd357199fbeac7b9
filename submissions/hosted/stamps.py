"""
The stamp in the address that our own page posts to: when it was opened, and where its visitor goes next. Signed.

In the address and not in an input, so that it is never data. A stamp that is not ours, or old, says nothing.
"""

import dataclasses
import time

from django.core import signing

PARAMETER = "stamp"
SALT = "submissions.page"
GOOD_FOR = 86_400  # seconds; a page left open longer is a person's anyway


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    """`at` is the epoch second of opening, `next_page` the address decided for an earlier post, `text` the whole."""

    at: float
    next_page: str
    text: str


def make(form_id: str, *, opened_at: float | None = None, next_page: str = "") -> str:
    """Return the stamp of a page that is opened now, or was at that epoch second."""
    at = round(time.time(), 3) if opened_at is None else opened_at
    return signing.dumps({"at": at, "next": next_page}, salt=f"{SALT}.{form_id}")


def read(form_id: str, text: str) -> Stamp | None:
    """Return what a stamp says, or None when this form's page was not given it within a day."""
    try:
        found = signing.loads(text, salt=f"{SALT}.{form_id}", max_age=GOOD_FOR)
    except signing.BadSignature:
        return None
    return Stamp(at=found["at"], next_page=found["next"], text=text)
