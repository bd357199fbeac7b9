"""Times as the API shows them: ISO 8601, UTC, milliseconds, `Z` (docs/contract.md 1)."""

import datetime as dt
import re

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def format_time(moment: dt.datetime | None) -> str | None:
    """Return `2026-01-31T09:30:00.000Z` for an aware datetime, None for None."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


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
    """Return midnight at the start of a UTC day."""
    return dt.datetime.combine(day, dt.time.min, dt.UTC)
