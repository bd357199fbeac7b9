"""Times as the API shows and reads them: ISO 8601, UTC, milliseconds, `Z` (docs/contract.md 1)."""

import datetime as dt
import re
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy

MILLISECOND = dt.timedelta(milliseconds=1)
BEGINNING, END = dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})[Tt](?P<minute>\d{2}:\d{2}):(?P<second>\d{2})(?:\.(?P<fraction>\d+))?"
    r"(?P<offset>[Zz]|[+-]\d{2}:[0-5]\d| \d{2}:[0-5]\d)?",
    re.ASCII,
)
EXPECTED = gettext_lazy("Must be a date such as 2026-01-31, or a time with an offset such as 2026-01-31T09:30:00Z.")


def format_time(moment: dt.datetime | None) -> str | None:
    """Return `2026-01-31T09:30:00.000Z` for an aware datetime, None for None."""
    if moment is None:
        return None
    at = moment.astimezone(dt.UTC)
    return "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ" % (  # noqa: UP031 - for exports, in 0.7 of the others' time
        at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond // 1000
    )  # fmt: skip


def now() -> dt.datetime:
    """Return the current time, UTC, in whole milliseconds, so that stored and shown times are equal."""
    moment = dt.datetime.now(dt.UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def parse_date(text: str) -> dt.date | None:
    """Return the date of `YYYY-MM-DD`; None for anything else, such as the ISO weeks that Python also parses."""
    try:
        return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def day_start(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time.min, dt.UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """The span of a date or a time in a request: from `start` to before `end`, in UTC and whole milliseconds."""

    start: dt.datetime
    end: dt.datetime

    @classmethod
    def of_day(cls, day: dt.date) -> "Period":
        return cls(day_start(day), END if day == dt.date.max else day_start(day + dt.timedelta(days=1)))


def parse_period(text: str) -> Period:
    """
    Return the period of `YYYY-MM-DD`, a UTC day, or of a time of RFC 3339, the millisecond in which it lies.

    Raises ValueError with a message for clients.
    """
    day = parse_date(text)
    if day is not None:
        return Period.of_day(day)
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(EXPECTED)
    if found["offset"] is None:
        raise ValueError(gettext("Must have an offset from UTC, such as Z or +02:00."))
    if found["offset"].startswith(" "):
        raise ValueError(gettext("Must have an offset from UTC. In a query, write + as %%2B.") % ())
    start = _moment(found["day"], found["minute"], found["second"], found["offset"])
    fraction = found["fraction"] or ""
    start = min(start, END - dt.timedelta(seconds=1)) + int(fraction[:3].ljust(3, "0")) * MILLISECOND
    # Stored times are whole milliseconds: the next one is the first that is not before a time between two of them.
    return Period(start + MILLISECOND if fraction[3:].strip("0") else start, start + MILLISECOND)


def _moment(day: str, minute: str, second: str, offset: str) -> dt.datetime:
    """Return a time in UTC, the nearest one that Python knows. A leap second is the start of the next minute."""
    is_leap = second == "60"
    try:
        local = dt.datetime.fromisoformat(f"{day}T{minute}:{'59' if is_leap else second}{offset.upper()}")
    except ValueError:
        raise ValueError(EXPECTED) from None
    try:
        return local.astimezone(dt.UTC) + dt.timedelta(seconds=is_leap)
    except OverflowError:
        return BEGINNING if local.year == 1 else END
