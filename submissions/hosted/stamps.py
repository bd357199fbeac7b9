"""
The signed stamp in the URL that our own page posts to: when the page was opened, and where its visitor goes next.

In the URL and not in an input, so that it is never data. A stamp that is forged or older than a day is ignored.
"""

import dataclasses
import time

from django.core import signing

PARAMETER = "stamp"
SALT = "submissions.page"
GOOD_FOR = 86_400  # seconds; a page that was open for longer is not a robot's


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    """`at`: epoch second of opening. `next_page`: URL decided for an earlier post. `text`: the stamp as received."""

    at: float
    next_page: str
    text: str


def make(segment: str, *, opened_at: float | None = None, next_page: str = "") -> str:
    """
    Return the stamp of a page that is opened now, or was opened at an epoch second.

    `segment`: the id or address of the form, as it is in the path that the page posts to.
    """
    made = round(time.time(), 3)
    at = made if opened_at is None else opened_at
    return signing.dumps({"at": at, "made": made, "next": next_page}, salt=f"{SALT}.{segment}")


def read(segment: str, text: str) -> Stamp | None:
    """Return the content of a stamp; None unless it was made for this form's page within the last day."""
    try:
        found = signing.loads(text, salt=f"{SALT}.{segment}")
    except signing.BadSignature:
        return None
    # Not `max_age`: a stamp of release 0.1 has no `made`, and lived for a day.
    if time.time() - found.get("made", found["at"]) > GOOD_FOR:
        return None
    return Stamp(at=found["at"], next_page=found["next"], text=text)
