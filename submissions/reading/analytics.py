"""`GET /api/analytics`: totals and a series from the tallies, filled with zeros (docs/contract.md 5)."""

import datetime as dt
import uuid
from collections import Counter, defaultdict
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Trunc
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.errors import invalid
from config.api.find_owned import find_owned
from config.api.schema import enveloped
from config.api.serializers import DateField, IdField, QuerySerializer, validate_query
from config.api.views import KeyedView, success
from config.database import snapshot
from config.ids import Prefix, first_id_of
from config.times import day_start, format_time
from forms_app.models import Form
from keys.models import Permission
from submissions.models import Submission, Tally

DEFAULT_DAYS = 30
MAX_POINTS = {"day": 3660, "hour": 24 * 92}  # ten years of days, three months of hours
STEPS = {"day": dt.timedelta(days=1), "hour": dt.timedelta(hours=1)}
LAST_MOMENT = dt.time(23, 59, 59, 999_000, tzinfo=dt.UTC)  # of a day, in the milliseconds that we store
COLUMNS = ("received", "spam", "delivered", "failed")


class AnalyticsQuery(QuerySerializer):
    """`formId`, `from` and `to` (UTC days, inclusive; the last 30 by default), `interval`."""

    texts = {"interval": "The length of a point of the series."}
    formId = IdField(Prefix.FORM, required=False)
    to = DateField(required=False)
    interval = serializers.ChoiceField(["day", "hour"], default="day")

    def get_fields(self) -> dict[str, Any]:
        """Add `from`, which is a keyword."""
        return {"from": DateField(required=False), **super().get_fields()}


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
        """Return totals and a series for a range of days, by default the last 30."""
        query = validate_query(AnalyticsQuery, request.query_params)
        first, last = day_range(query)
        form_id = query.get("formId")
        if form_id:
            find_owned(Form.objects.all(), form_id, self.organization_id)
        data = summarize(self.organization_id, form_id, first=first, last=last, interval=query["interval"])
        return success(data, f"Counts from {first} to {last}.")


def day_range(query: dict[str, Any]) -> tuple[dt.date, dt.date]:
    """Return the first and last day asked for. Raises ValidationFailed for an empty or too long range."""
    last = query.get("to") or max(dt.datetime.now(dt.UTC).date(), query.get("from") or dt.date.min)
    first = query.get("from") or last - dt.timedelta(days=min(DEFAULT_DAYS - 1, (last - dt.date.min).days))
    if first > last:
        raise invalid("from", "after_to", "lies after `to`. Swap the two dates.")
    points = ((last - first).days + 1) * (24 if query["interval"] == "hour" else 1)
    most = MAX_POINTS[query["interval"]]
    if points > most:
        raise invalid("from", "range_too_long", f"the range has {points:,} points; at most {most:,} are given.")
    return first, last


def summarize(
    organization_id: uuid.UUID, form_id: uuid.UUID | None, *, first: dt.date, last: dt.date, interval: str
) -> dict[str, Any]:
    """Return `{totals, series}`: the tallies, plus the rows that no tally counts yet."""
    scope = Q(form_id=form_id) if form_id else Q(form__organization_id=organization_id)
    start, end = day_start(first), dt.datetime.combine(last, LAST_MOMENT)
    points: dict[dt.datetime, Counter[str]] = defaultdict(Counter)
    with snapshot() as alias:
        tallies = Tally.objects.using(alias).filter(scope, hour__gte=start, hour__lte=end)
        for row in _grouped(tallies, "hour", interval).annotate(**{f"n_{c}": Sum(c) for c in COLUMNS}):
            points[row["start"]].update({column: row[f"n_{column}"] for column in COLUMNS})
        waiting = Submission.objects.using(alias).undispatched().filter(scope, counted_as="")
        waiting = waiting.filter(id__gte=first_id_of(start), created_at__lte=end)
        counts = {"n_received": Count("pk"), "n_spam": Count("pk", filter=Q(spam=True))}
        for row in _grouped(waiting, "created_at", interval).annotate(**counts):
            points[row["start"]].update(received=row["n_received"], spam=row["n_spam"])
    totals: Counter[str] = sum(points.values(), Counter())
    return {"totals": {column: totals[column] for column in COLUMNS}, "series": _series(points, start, end, interval)}


def _grouped(rows: QuerySet[Any], column: str, interval: str) -> QuerySet[Any, Any]:
    grouped: QuerySet[Any, Any] = rows.order_by().annotate(start=Trunc(column, interval, tzinfo=dt.UTC)).values("start")
    return grouped


def _series(
    points: dict[dt.datetime, "Counter[str]"], start: dt.datetime, end: dt.datetime, interval: str
) -> list[dict[str, Any]]:
    series = []
    while start <= end:
        counts = points.get(start, Counter())
        series.append({"start": format_time(start), "received": counts["received"], "spam": counts["spam"]})
        if end - start < STEPS[interval]:
            break
        start += STEPS[interval]
    return series


urlpatterns = [path("analytics", AnalyticsView.as_view(), name="analytics")]
