"""`GET /api/analytics`: totals and a series from the tallies, filled with zeros (docs/contract.md 5)."""

import datetime as dt
import uuid
from collections import Counter, defaultdict
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import invalid
from config.api.find_owned import find_owned
from config.api.schema import enveloped
from config.api.serializers import IdField, PeriodField, QuerySerializer, validate_query
from config.api.views import KeyedView, success
from config.base.database import snapshot
from config.base.ids import Prefix
from config.base.times import END, MILLISECOND, Period, day_start, format_time, now
from forms_app.models import Form
from keys.models import Permission
from submissions.reading.days import COUNTED, counted

DEFAULT_RANGE = dt.timedelta(days=29)  # before the last day
MAX_POINTS = {"day": 3660, "hour": 24 * 92}  # ten years of days, three months of hours
STEPS = {"day": dt.timedelta(days=1), "hour": dt.timedelta(hours=1)}


class AnalyticsQuery(QuerySerializer):
    """`formId`, `from` and `to` (inclusive; the last 30 days by default), `interval`."""

    texts = {"interval": "The length of a point of the series."}
    formId = IdField(Prefix.FORM, required=False)
    to = PeriodField(required=False)
    interval = serializers.ChoiceField(["day", "hour"], default="day")

    def get_fields(self) -> dict[str, Any]:
        """Add `from`, which is a keyword."""
        return {"from": PeriodField(required=False), **super().get_fields()}


class TotalsRecord(serializers.Serializer[Any]):
    """Counts of the whole range."""

    schema_name = "AnalyticsTotals"
    texts = {
        "received": "Submissions, spam included.",
        "spam": "Submissions taken for spam.",
        "delivered": "Deliveries that succeeded.",
        "failed": "Deliveries that failed permanently.",
    }
    received = serializers.IntegerField()
    spam = serializers.IntegerField()
    delivered = serializers.IntegerField()
    failed = serializers.IntegerField()


class PointRecord(serializers.Serializer[Any]):
    """Counts of one day or hour."""

    schema_name = "AnalyticsPoint"
    texts = {
        "start": "When it begins (UTC).",
        "received": "Submissions, spam included.",
        "spam": "Submissions taken for spam.",
    }
    start = serializers.DateTimeField()
    received = serializers.IntegerField()
    spam = serializers.IntegerField()


class AnalyticsRecord(serializers.Serializer[Any]):
    """Counts of an organization or of one form."""

    texts = {"totals": "Counts of the whole range.", "series": "A point for every day or hour, also where nothing was."}
    totals = TotalsRecord()
    series = PointRecord(many=True)


class AnalyticsView(KeyedView):
    """Counts of an organization or of one form."""

    resource = "analytics"
    action = "read"  # as viewsets name their actions; there is one method
    permission_for = {"read": Permission.ANALYTICS_READ}

    @extend_schema(parameters=[AnalyticsQuery], responses=enveloped(AnalyticsRecord))
    def get(self, request: Request) -> Response:
        """Return totals and a series for a range of time, by default the last 30 days."""
        query = validate_query(AnalyticsQuery, request.query_params)
        start, end = hours_of(query)
        form_id = query.get("formId")
        if form_id:
            find_owned(Form.objects.all(), form_id, self.organization_id)
        data = summarize(self.organization_id, form_id, start=start, end=end, interval=query["interval"])
        return success(data, _message(start, end))


def hours_of(query: dict[str, Any]) -> tuple[dt.datetime, dt.datetime]:
    """
    Return the start of the first hour asked for and the end of the last one: the tallies count whole hours.

    The two are equal for an empty range. Raises ValidationFailed for one that is too long.
    """
    since, until = query.get("from"), query.get("to")
    today = now().date()
    end = until.end if until else Period.of_day(max(today, since.start.date() if since else today)).end
    last = (end - MILLISECOND).date()
    first = last - min(DEFAULT_RANGE, last - dt.date.min)
    start = since.start if since else day_start(first)
    if start >= end:
        return start, start
    start = _start_of(start, "hour")
    end = end if end == _start_of(end, "hour") or end == END else _start_of(end, "hour") + STEPS["hour"]
    _refuse_long(start, end, query["interval"])
    return start, end


def _message(start: dt.datetime, end: dt.datetime) -> str:
    if start == end:
        return "Nothing lies in this range: `from` is after `to`."
    last = end - MILLISECOND
    if Period.of_day(start.date()).start == start and Period.of_day(last.date()).end == end:
        return f"Counts from {start.date()} to {last.date()}."
    return f"Counts from {format_time(start)} to before {format_time(end)}."


def _refuse_long(start: dt.datetime, end: dt.datetime, interval: str) -> None:
    points = -(-(end - _start_of(start, interval)) // STEPS[interval])
    most = MAX_POINTS[interval]
    if points > most:
        raise invalid("from", "range_too_long", f"the range has {points:,} points; at most {most:,} are given.")


def _start_of(moment: dt.datetime, interval: str) -> dt.datetime:
    start = moment.replace(minute=0, second=0, microsecond=0)
    return start if interval == "hour" else start.replace(hour=0)


def summarize(
    organization_id: uuid.UUID, form_id: uuid.UUID | None, *, start: dt.datetime, end: dt.datetime, interval: str
) -> dict[str, Any]:
    """Return `{totals, series}` from `start` to before `end`: the tallies, plus the rows that no tally counts yet."""
    scope = Q(form_id=form_id) if form_id else Q(form__organization_id=organization_id)
    points: dict[dt.datetime, Counter[str]] = defaultdict(Counter)
    with snapshot(settings.ANALYTICS) as alias:
        for _, moment, counts in counted(scope, start, end, by=(), every=interval, alias=alias):
            points[moment].update(counts)
    totals: Counter[str] = sum(points.values(), Counter())
    return {"totals": {column: totals[column] for column in COUNTED}, "series": _series(points, start, end, interval)}


def _series(
    points: dict[dt.datetime, "Counter[str]"], start: dt.datetime, end: dt.datetime, interval: str
) -> list[dict[str, Any]]:
    series, moment = [], _start_of(start, interval)
    while start < end and moment < end:
        counts = points.get(moment, Counter())
        series.append({"start": format_time(moment), "received": counts["received"], "spam": counts["spam"]})
        if end - moment <= STEPS[interval]:
            break
        moment += STEPS[interval]
    return series


urlpatterns = [path("analytics", AnalyticsView.as_view(), name="analytics")]
