"""`/dashboard/_design`, with DEBUG only: every token and component of docs/design.md on one page."""

import datetime as dt
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from dashboard.frame.design.icons import ICONS
from dashboard.pages.overview.charts import draw_chart, draw_spark
from submissions.reading.days import DayCount

_SIZES = ("space", "radius", "text", "shadow", "font", "mono", "quick", "slow")
STATES = ("published", "failed", "held", "pending", "unknown")


def showcase(request: HttpRequest) -> HttpResponse:
    found = finders.find("brand/tokens.css")
    lines = [line.strip() for line in Path(found).read_text().splitlines()] if found else []
    names = [line[2:].partition(":")[0] for line in lines if line.startswith("--")]
    colors = [name for name in names if not name.startswith(_SIZES)]
    texts = [name for name in names if name.startswith("text")]
    today = dt.date(2026, 1, 30)
    counts = [DayCount(today - dt.timedelta(days=ago), 20 + 7 * ago % 23, ago % 5) for ago in reversed(range(30))]
    context: dict[str, Any] = {"colors": colors, "texts": texts, "icons": ICONS, "states": STATES}
    context |= {"chart": draw_chart(counts), "bars": draw_spark(counts)}
    return render(request, "dashboard/design.html", context)


urlpatterns = [path("_design", showcase, name="design")]
