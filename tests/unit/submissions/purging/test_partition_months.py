"""Months as ranges of ids, and the command where there are no partitions."""

import datetime as dt
import os

import pytest
import time_machine
from django.core.management import CommandError, call_command

from config.ids import made_at
from submissions.partitions.dropping import tend_partitions
from submissions.partitions.making import months_from
from submissions.partitions.months import first_id, later_month, read_month
from tests.services.environment import BACKEND_VARIABLE, SQLITE

IS_SQLITE = os.environ[BACKEND_VARIABLE] == SQLITE


@pytest.mark.parametrize(
    ("month", "number", "later"),
    [("2026-01", 1, "2026-02"), ("2026-12", 1, "2027-01"), ("2026-11", 14, "2028-01"), ("2026-11", 0, "2026-11")],
)
def test_later_month__over_ends_of_years__is_the_first_day_of_that_month(month: str, number: int, later: str) -> None:
    assert later_month(read_month(month), number) == read_month(later)


def test_first_id__of_a_month__is_of_its_first_millisecond() -> None:
    assert made_at(first_id(dt.date(2026, 12, 1))) == dt.datetime(2026, 12, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize("text", ["", "2026", "2026-13", "2026-01-01", "January"])
def test_read_month__of_other_text__is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"time data|unconverted data"):
        read_month(text)


def test_months_from__a_month__reach_three_months_ahead() -> None:
    with time_machine.travel(dt.datetime(2026, 11, 30, 23, 59, tzinfo=dt.UTC)):
        assert months_from(dt.date(2026, 12, 1)) == [dt.date(2026, 12, 1), dt.date(2027, 1, 1), dt.date(2027, 2, 1)]
        assert months_from(dt.date(2027, 3, 1)) == []


@pytest.mark.django_db
def test_command__without_partitions__says_so_and_changes_nothing() -> None:
    with pytest.raises(CommandError, match="needs PostgreSQL" if IS_SQLITE else "2025-01 has no partition"):
        call_command("partition_submissions", drop="2025-01", yes=True)
    if IS_SQLITE:
        with pytest.raises(CommandError, match="needs PostgreSQL"):
            call_command("partition_submissions")
    else:
        with pytest.raises(CommandError, match="is no month"):
            call_command("partition_submissions", drop="January")
    tend_partitions()


@pytest.mark.django_db
def test_dry_run__on_a_plain_table__prints_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    if IS_SQLITE:
        with pytest.raises(CommandError, match="needs PostgreSQL"):
            call_command("partition_submissions", dry_run=True)
        return
    with time_machine.travel(dt.datetime(2026, 11, 26, tzinfo=dt.UTC)):  # December is less than a week away
        call_command("partition_submissions", dry_run=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "check that every id is from before 2027-01, while the service runs",
        "rename submissions_submission to submissions_submission_before, and make it the first partition",
        "make the partitions of 2027-01, 2027-02",
    ]
    assert [line.rpartition(" ")[2] for line in lines[3:]] == [
        "submissions_consent",
        "submissions_submittermail",
        "webhooks_delivery",
        "webhooks_message",
    ]
