"""`from` and `to`: dates and times of RFC 3339 (docs/contract.md 1.3)."""

import datetime as dt

import pytest

from config.base.times import END, parse_period


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.001Z"),
        ("2026-01-31t09:30:00z", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00.001Z"),
        ("2026-01-31T09:30:00.5+02:00", "2026-01-31T07:30:00.500Z", "2026-01-31T07:30:00.501Z"),
        ("2026-01-31T23:30:00-05:30", "2026-02-01T05:00:00Z", "2026-02-01T05:00:00.001Z"),
        # Stored times are whole milliseconds: one within a millisecond starts with the next and ends with this one.
        ("2026-01-31T09:30:00.123456789Z", "2026-01-31T09:30:00.124Z", "2026-01-31T09:30:00.124Z"),
        ("2026-01-31T09:30:00.1230000Z", "2026-01-31T09:30:00.123Z", "2026-01-31T09:30:00.124Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", "2017-01-01T00:00:00.001Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.001Z"),
    ],
)
def test_period__of_a_text__is_in_utc_and_milliseconds(text: str, start: str, end: str) -> None:
    found = parse_period(text)

    assert (found.start, found.end) == (at(start), at(end))


@pytest.mark.parametrize("text", ["9999-12-31", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00"])
def test_period__at_the_end_of_time__is_cut(text: str) -> None:
    found = parse_period(text)

    assert found.start <= found.end <= END


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-01-31T09:30:00", "Must have an offset from UTC, such as Z or +02:00."),
        ("2026-01-31T09:30:00 02:00", "Must have an offset from UTC. In a query, write + as %2B."),
        *(
            (text, "Must be a date such as 2026-01-31, or a time with an offset such as 2026-01-31T09:30:00Z.")
            for text in (
                *(
                    "",
                    "yesterday",
                    "2026-02-30",
                    "2026-1-1",
                    "20260131",
                    "2026-W05-6",
                    "1769851800",
                    "\u0662\u0660\u0662\u0666-01-31",
                ),
                *("2026-01-31 09:30:00Z", "2026-01-31T09:30Z", "2026-02-30T00:00:00Z", "2026-01-31T24:00:00Z"),
                *(
                    "2026-01-31T09:61:00Z",
                    "2026-01-31T09:30:61Z",
                    "2026-01-31T09:30:00+25:00",
                    "2026-01-31T09:30:00Z\n",
                ),
                *("2026-01-31T09:30:00,5Z", "2026-01-31T09:30:00.Z"),
                *("2026-01-31T09:30:00+02:60", "2026-01-31T09:30:00-02:99"),  # which Python takes for +03:00
            )
        ),
    ],
)
def test_period__of_another_text__is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^Must") as refused:
        parse_period(text)

    assert str(refused.value) == message
