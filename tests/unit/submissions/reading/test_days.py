"""Days of a chart: from tallies and uncounted rows, in a time zone, with a fixed number of queries."""

import datetime as dt
import zoneinfo

import pytest
import time_machine
from django.conf import settings
from django.db import connections
from django.test.utils import CaptureQueriesContext

from config.base.ids import Prefix, decode_id
from submissions.models import Submission, Tally
from submissions.reading.days import count_days, count_days_of_forms
from tests.support.rows import put
from tests.support.tenants import make_tenant

NOON = dt.datetime(2026, 3, 30, 12, tzinfo=dt.UTC)  # the day after clocks changed in Berlin
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", settings.SNAPSHOT])


def at(day: int, hour: int, minute: int = 0) -> dt.datetime:
    return dt.datetime(2026, 3, day, hour, minute, tzinfo=dt.UTC)


@time_machine.travel(NOON, tick=False)
@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (dt.UTC, [(27, 0, 0), (28, 1, 0), (29, 3, 1), (30, 7, 0)]),
        (BERLIN, [(27, 0, 0), (28, 0, 0), (29, 3, 1), (30, 8, 0)]),
    ],
)
def test_days__of_tallies_and_uncounted_rows__are_those_of_the_zone(
    zone: dt.tzinfo, expected: list[tuple[int, int, int]]
) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id = tenant.form()
    for moment, spam in ((at(28, 23, 30), False), (at(29, 21, 59), True), (at(29, 22), False), (at(29, 1), False)):
        put(tenant, form_id, {"n": "1"}, moment, spam=spam)
    Tally.objects.create(form_id=decode_id(Prefix.FORM, form_id), hour=at(30, 0), received=7, kept=4, spam=0)
    put(other, other.form(), {"n": "1"}, at(30, 1))

    whole = count_days(tenant.organization.pk, None, days=4, zone=zone)
    of_form = count_days(tenant.organization.pk, [decode_id(Prefix.FORM, form_id)], days=4, zone=zone)
    nothing = count_days(tenant.organization.pk, [decode_id(Prefix.FORM, tenant.default_form_id)], days=4, zone=zone)

    assert [(day.day.day, day.received, day.spam) for day in whole] == expected
    assert of_form == whole
    assert [(day.day.day, day.received, day.spam) for day in nothing] == [(day, 0, 0) for day in range(27, 31)]


@time_machine.travel(NOON, tick=False)
def test_days__when_a_row_is_counted__stay_the_same_in_a_zone_whose_midnight_splits_an_hour() -> None:
    tenant, kolkata = make_tenant(), zoneinfo.ZoneInfo("Asia/Kolkata")
    form_id = tenant.form()
    put(tenant, form_id, {"n": "1"}, at(29, 18, 45))  # a quarter past midnight there
    before = count_days(tenant.organization.pk, None, days=3, zone=kolkata)
    Submission.objects.all().delete()
    Tally.objects.create(form_id=decode_id(Prefix.FORM, form_id), hour=at(29, 18), received=1, kept=1)
    assert count_days(tenant.organization.pk, None, days=3, zone=kolkata) == before
    assert [day.received for day in before] == [0, 1, 0]


@time_machine.travel(NOON, tick=False)
def test_days__of_many_forms__take_as_many_queries_as_of_one() -> None:
    tenant = make_tenant()
    forms = [decode_id(Prefix.FORM, tenant.form()) for _ in range(5)]
    for number, form_id in enumerate(forms):
        Tally.objects.create(form_id=form_id, hour=at(30, 1), received=number, kept=number)
    with CaptureQueriesContext(connections[settings.SNAPSHOT]) as of_one:
        count_days_of_forms(forms[:1], days=2)
    with CaptureQueriesContext(connections[settings.SNAPSHOT]) as of_all:
        counted = count_days_of_forms(forms, days=2)
    assert len(of_all) == len(of_one)
    assert [counted[form_id][-1].received for form_id in forms] == [0, 1, 2, 3, 4]
