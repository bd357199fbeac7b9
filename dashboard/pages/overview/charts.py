"""
Charts of submissions by day, as the numbers that a template draws: an SVG without a script (docs/design.md).

Positions are percentages of the drawing, so that it fits any width while corners and text keep their size. They are
texts, because a template would write a float in the reader's language.
"""

import dataclasses
import datetime as dt
import itertools
from collections.abc import Iterator, Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.dateformat import format as date_format
from django.utils.translation import gettext, pgettext

from submissions.reading.days import DayCount

RANGES = (7, 30, 90)
DEFAULT_RANGE = 30
LABEL_EVERY = {7: 1, 30: 7, 90: 18}  # days between two labels, counted back from today
BAR_SHARES = {7: 46, 30: 70, 90: 72}  # percent of a day's width
SPARK_SHARE = 70
LEAST_HEIGHT = 1.5  # percent: a day with one submission next to one with thousands is seen
GAP = 1.0  # percent between submissions and spam
MOST_LINES = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    x: str
    y: str
    width: str
    height: str


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """One day: `slot` is its full height. Without submissions `kept`, and without spam `spam`, is None."""

    count: DayCount
    is_today: bool
    slot: Box
    kept: Box | None
    spam: Box | None


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """A text at a place of an axis: `anchor` is that of SVG."""

    place: str
    text: str
    anchor: str = "middle"
    is_today: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """Bars from the first day to today, lines with their numbers, and some days' names."""

    bars: list[Bar]
    lines: list[Label]
    days: list[Label]

    @property
    def is_empty(self) -> bool:
        return not any(bar.count.received for bar in self.bars)


def chosen_range(text: str) -> int:
    """Return the number of days of `?days=`; anything that is not offered is the default."""
    return next((days for days in RANGES if str(days) == text), DEFAULT_RANGE)


def draw_chart(counts: Sequence[DayCount]) -> Chart:
    """Return the chart of these days, one of RANGES in number."""
    step = _step_of(max(count.received for count in counts))
    top = step * max(1, -(-max(count.received for count in counts) // step))
    lines = [Label(_percent(100 - 100 * n / top), intcomma(n)) for n in range(0, top + 1, step)]
    return Chart(_bars(counts, top, BAR_SHARES[len(counts)]), lines, _day_labels([count.day for count in counts]))


def draw_spark(counts: Sequence[DayCount]) -> list[Bar]:
    """Return bars without axes, for a list."""
    return _bars(counts, max(1, *(count.received for count in counts)), SPARK_SHARE)


def _step_of(most: int) -> int:
    """Return a step of 1, 2 or 5 times a power of ten, so that at most MOST_LINES of them reach the highest bar."""
    steps: Iterator[int] = (step * 10**power for power in itertools.count() for step in (1, 2, 5))
    return next(step for step in steps if most <= step * MOST_LINES)


def _bars(counts: Sequence[DayCount], top: int, share: int) -> list[Bar]:
    slot = 100 / len(counts)
    width, inset = slot * share / 100, slot * (100 - share) / 200
    bars = []
    for place, count in enumerate(counts):
        left = slot * place
        kept, spam = (max(LEAST_HEIGHT, 100 * n / top) if n else 0.0 for n in (count.kept, count.spam))
        foot = kept + GAP if kept and spam else kept
        height = max(LEAST_HEIGHT, spam - (foot - kept)) if spam else 0.0
        bars.append(
            Bar(
                count,
                is_today=place == len(counts) - 1,
                slot=_box(left, 0, slot, 100),
                kept=_box(left + inset, 100 - kept, width, kept) if kept else None,
                spam=_box(left + inset, max(0, 100 - foot - height), width, height) if spam else None,
            )
        )
    return bars


def _day_labels(days: Sequence[dt.date]) -> list[Label]:
    slot, last = 100 / len(days), len(days) - 1
    is_week = len(days) == RANGES[0]
    labels = []
    for place in range(last - LABEL_EVERY[len(days)], -1, -LABEL_EVERY[len(days)]):
        text = date_format(days[place], "D" if is_week else pgettext("the format of a day, such as Jan 31", "M j"))
        labels.append(Label(_percent(slot * (place + 0.5)), text))
    today = Label(
        _percent(slot * (last + 0.5) if is_week else 100), gettext("Today"), "middle" if is_week else "end", True
    )
    return [*reversed(labels), today]


def _box(x: float, y: float, width: float, height: float) -> Box:
    return Box(*map(_percent, (x, y, width, height)))


def _percent(value: float) -> str:
    return f"{value:.2f}%"
