"""The numbers of a chart: every bar inside its slot and the drawing, lines at round numbers, labels apart."""

import datetime as dt

import pytest

from dashboard.pages.overview.charts import RANGES, Bar, Box, chosen_range, draw_chart, draw_spark
from submissions.reading.days import DayCount

FIRST = dt.date(2026, 1, 1)


def counts(days: int, *given: tuple[int, int]) -> list[DayCount]:
    """Return so many days; the last ones have the given numbers received and of spam."""
    numbers = [(0, 0)] * (days - len(given)) + list(given)
    return [DayCount(FIRST + dt.timedelta(days=place), *pair) for place, pair in enumerate(numbers)]


def edges(box: Box) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom in percent."""
    x, y, width, height = (float(text.removesuffix("%")) for text in (box.x, box.y, box.width, box.height))
    return x, y, x + width, y + height


def parts(bar: Bar) -> list[Box]:
    return [box for box in (bar.spam, bar.kept) if box]


@pytest.mark.parametrize("days", RANGES)
@pytest.mark.parametrize("busy", [(1, 0), (1, 1), (9, 4), (1_000_000, 3)])
def test_bars__of_any_numbers__are_whole_and_apart(days: int, busy: tuple[int, int]) -> None:
    for bars in (draw_chart(counts(days, busy, (2, 1), busy)).bars, draw_spark(counts(days, busy, (2, 1), busy))):
        assert [bar.is_today for bar in bars] == [False] * (days - 1) + [True]
        for bar in bars:
            left, _, right, _ = edges(bar.slot)
            found = [edges(box) for box in parts(bar)]
            assert all(left < box[0] < box[2] < right + 0.01 for box in found)
            assert all(0 <= box[1] < box[3] <= 100.02 for box in found), found
        assert [len(parts(bar)) for bar in bars[-3:]] == [bool(busy[1]) + (busy[0] > busy[1]), 2, len(parts(bars[-3]))]


def test_bars__next_to_each_other__are_as_high_as_their_numbers() -> None:
    (*_, half, full) = draw_chart(counts(7, (50, 0), (100, 40))).bars
    assert half.kept
    assert edges(half.kept)[1:] == (50, edges(half.kept)[2], 100)
    assert full.kept
    assert full.spam
    assert edges(full.kept)[1] == 40
    assert edges(full.spam)[1] == 0
    assert edges(full.spam)[3] < 40, "spam is a part by itself"


@pytest.mark.parametrize(
    ("most", "lines"),
    [
        (0, ["0", "1"]),
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (5, ["0", "2", "4", "6"]),
        (10, ["0", "5", "10"]),
        (238, ["0", "100", "200", "300"]),
        (1_000_001, ["0", "500,000", "1,000,000", "1,500,000"]),
    ],
)
def test_lines__are_at_round_numbers_up_to_the_highest(most: int, lines: list[str]) -> None:
    assert [line.text for line in draw_chart(counts(30, (most, 0))).lines] == lines


def test_labels__name_some_days_and_today() -> None:
    names = {days: [label.text for label in draw_chart(counts(days)).days] for days in RANGES}
    assert names[7] == ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Today"]
    assert names[30] == ["Jan 2", "Jan 9", "Jan 16", "Jan 23", "Today"]
    assert names[90] == ["Jan 18", "Feb 5", "Feb 23", "Mar 13", "Today"]


@pytest.mark.parametrize(("text", "days"), [("7", 7), ("30", 30), ("90", 90), ("", 30), ("365", 30), ("7 ", 30)])
def test_range__that_is_not_offered__is_30_days(text: str, days: int) -> None:
    assert chosen_range(text) == days
