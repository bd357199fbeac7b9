"""How the API writes moments: ISO 8601, UTC, milliseconds, `Z` (CONTRACT section 1)."""

import datetime as dt


def format_time(moment: dt.datetime | None) -> str | None:
    """Return `2026-01-31T09:30:00.000Z` for an aware datetime; None stays None."""
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def now() -> dt.datetime:
    """Return the present moment, UTC, cut to whole milliseconds: what is stored is what is shown and compared."""
    moment = dt.datetime.now(dt.UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def day_start(day: dt.date) -> dt.datetime:
    """Return the first moment of a UTC day."""
    return dt.datetime.combine(day, dt.time.min, dt.UTC)
