"""Days of a time zone, and templates that would call a user's time UTC."""

import datetime as dt
import re
from pathlib import Path

import pytest
from django.utils import timezone

from config.base.times import BEGINNING, END, Period
from dashboard.accounts.time_zones import own_day, zone_of

TEMPLATES = Path(__file__).parents[3] / "templates"
HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("UTC", "2026-03-29", 24), ("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25)],
)
def test_own_day__of_each_zone__is_as_long_as_it_is_there(zone: str, day: str, hours: int) -> None:
    with timezone.override(zone_of(zone)):
        period = own_day(dt.date.fromisoformat(day))
    assert (period.end - period.start) / HOUR == hours
    assert period.start.astimezone(zone_of(zone)).isoformat().startswith(f"{day}T00:00:00")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_own_day__at_the_ends_of_time__stays_inside(zone: str) -> None:
    with timezone.override(zone_of(zone)):
        first, last = own_day(dt.date.min), own_day(dt.date.max)
    assert BEGINNING <= first.start < first.end
    assert last.start < last.end == END
    assert Period.of_day(dt.date.min).start == BEGINNING


def test_templates__of_the_dashboard__call_no_time_utc_that_may_be_another() -> None:
    """A clock in a page is `exact`, or `|utc` before `|date`."""
    clock = re.compile(r"\{\{ (?![^}]*\|utc\|date)[^}]*\|date:[\"'][^\"']*[His][^\"']*[\"'][^}]*\}\}")
    found = {path.name: clock.findall(path.read_text()) for path in (TEMPLATES / "dashboard").rglob("*.html")}
    assert {name: clocks for name, clocks in found.items() if clocks} == {}
