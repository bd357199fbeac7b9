"""
The time zone of a user: pages show times in it, and a day of a filter is a day there.

The API, exports and mails keep UTC. Only views that `in_own_time` wraps know another zone.
"""

import datetime as dt
import zoneinfo
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from config.base.times import BEGINNING, END, Period
from keys.models import User

UTC = "UTC"
FORMATS = {"second": "%Y-%m-%d %H:%M:%S", "minute": "%Y-%m-%d %H:%M", "clock": "%H:%M"}
OTHER_NAMES = ("Etc", "SystemV", "US")  # areas that repeat zones, or turn their signs around


@cache
def zone_names() -> tuple[str, ...]:
    """Return the zones to choose from, such as `Europe/Berlin`, and `UTC`."""
    areas = (name for name in zoneinfo.available_timezones() if "/" in name)
    return (UTC, *sorted(name for name in areas if name.partition("/")[0] not in OTHER_NAMES))


def zone_of(name: str) -> dt.tzinfo:
    """Return the zone of this name; UTC for an empty one, and for one that this machine does not know."""
    try:
        return zoneinfo.ZoneInfo(name) if name and name != UTC else dt.UTC
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return dt.UTC


def preset_zone(user: User, name: str) -> None:
    """Store the zone of a user's browser, unless they have one. One that cannot be chosen counts as UTC."""
    name = name if name in zone_names() else UTC
    User.objects.filter(pk=user.pk, time_zone="").update(time_zone=name)


def in_own_time(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def timed(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with timezone.override(zone_of(getattr(request.user, "time_zone", ""))):
            return view(request, *args, **kwargs)

    return timed


def current_zone() -> str:
    return timezone.get_current_timezone_name()


def exact(moment: dt.datetime, to_the: str = "second") -> str:
    """Return `2026-01-31 10:30:00 Europe/Berlin`, in the current time zone, in one of FORMATS."""
    return f"{timezone.localtime(moment):{FORMATS[to_the]}} {current_zone()}"


def own_day(day: dt.date) -> Period:
    """Return a whole day of the current time zone."""
    last = day == dt.date.max
    return Period(_start_of(day), END if last else _start_of(day + dt.timedelta(days=1)))


def _start_of(day: dt.date) -> dt.datetime:
    try:
        return dt.datetime.combine(day, dt.time.min, timezone.get_current_timezone()).astimezone(dt.UTC)
    except OverflowError:  # the first day east of Greenwich begins before year 1
        return BEGINNING if day.year == 1 else END
