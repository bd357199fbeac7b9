"""The table of `make bench`: medians, spreads, verdicts, kept figures. The measurements themselves are `make bench`."""

import argparse
import os
from pathlib import Path

import pytest

from tests.load.bench import chosen
from tests.load.durability import WANTED, NotDurable, check
from tests.load.report.document import render
from tests.load.report.figures import Result, Round, Row
from tests.load.report.kept import Kept, key_of, read_number, short_number
from tests.load.report.table import print_table
from tests.load.rows.every import KINDS, PLACES, ROWS
from tests.load.rows.serve import of_make_run
from tests.load.running import with_own_pauses
from tests.services.environment import BACKEND_VARIABLE, READY_VARIABLE, for_tests, service_environment

RATE = Row("submit", "Submissions", "pgbench", "a second", mark=0.25, aim=0.33, higher_is_better=True)
TIME = Row("list", "A list", "the same, 1,000 rows", "ms", mark=1.5, aim=1.1)
BYTES = Row("bytes", "Bytes", "", "bytes", mark=2_000)
RATES = Result(RATE, (Round(10, 100), Round(30, 80), Round(20, 90)))
RUN = {
    "date": "2026-11-23T17:05Z", "commit": "0b20795+", "rounds": 3, "seconds": 5.0, "deliveries": 10_000,
    "cpu": "A processor", "cores": 2,
    "memory_gib": 23.5, "load_before": 0.1, "versions": {"PostgreSQL": "15.14"}, "durability": {"service": "fsync on"},
}  # fmt: skip


def test_result__of_three_rounds__has_the_median_of_the_pairs_and_their_spread() -> None:
    assert (RATES.value, RATES.spread) == (20 / 90, (0.1, 0.375))
    assert (RATES.ours, RATES.rival) == (20, 90)
    alone = Result(BYTES, (Round(2_100), Round(1_900), Round(2_000)))
    assert (alone.value, alone.spread, alone.rival) == (2_000, (1_900, 2_100), None)


@pytest.mark.parametrize(
    ("row", "value", "verdict"),
    [
        (RATE, 0.249, "missed"),
        (RATE, 0.25, "mark"),
        (RATE, 0.33, "aim"),
        (TIME, 1.51, "missed"),
        (TIME, 1.5, "mark"),
        (TIME, 1.1, "aim"),
        (BYTES, 2_001, "missed"),
        (BYTES, 10, "mark"),
    ],
)
def test_verdict__of_a_value__is_the_better_bound_that_it_meets(row: Row, value: float, verdict: str) -> None:
    assert row.verdict(value) == verdict


def test_table__of_two_rows__has_a_line_for_each() -> None:
    lines = print_table([RATES, Result(BYTES, (Round(3_295),))]).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["row", "submit", "bytes"]
    assert " ".join(lines[1].split()) == ("submit 0.222 0.100 to 0.375 3 0.250 0.330 missed 20.0 of 90.0 a second")
    assert " ".join(lines[2].split()) == "bytes 3,295 bytes 3,295 bytes to 3,295 bytes 1 2,000 bytes - missed"


def test_kept__written_and_read__has_the_same_results_and_only_the_runs_they_need(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    kept = Kept(runs={"old": RUN, "new": RUN})
    kept.put(RATES, run="old")
    kept.put(Result(BYTES, (Round(2_000),)), run="old")
    kept.put(RATES, run="new")
    kept.put(Result(TIME, (Round(11, 8),)), run="new", stored_rows=10_000_000)
    kept.write(path)
    again = Kept.read(path)
    assert again.find([RATE, TIME, BYTES]) == [(RATES, "new"), (Result(BYTES, (Round(2_000),)), "old")]
    assert (again.suffixes(), again.find([TIME], "@10M")) == (["@10M"], [(Result(TIME, (Round(11, 8),)), "new")])
    again.put(Result(BYTES, (Round(1_000),)), run="new")
    again.write(path)
    assert list(Kept.read(path).runs) == ["new"]
    assert Kept.read(tmp_path / "none.json") == Kept()


def test_document__of_kept_figures__names_missed_marks_short_runs_and_missing_rows() -> None:
    kept = Kept(runs={"one": RUN})
    kept.put(RATES, run="one")
    kept.put(Result(TIME, (Round(11, 8),)), run="one", stored_rows=10_000_000)
    text = render(kept, [RATE, TIME, BYTES], {"submit": "Python takes the time."})
    assert "| `submit` | Submissions | pgbench | **0.222** | 0.100 to 0.375 (a short run: rounds 3) | 0.250 |" in text
    assert "## Over 10M rows" in text
    assert "- `submit` misses its mark. Python takes the time." in text
    assert "Not measured yet: list, bytes." in text
    assert "commit `0b20795` with changes that were not committed" in text
    assert "Not explained yet." in render(kept, [RATE], {})


@pytest.mark.parametrize(("text", "number"), [("1M", 1_000_000), ("10M", 10_000_000), ("100k", 100_000), ("7", 7)])
def test_number_of_rows__in_short__is_read_as_it_is_written(text: str, number: int) -> None:
    assert (read_number(text), short_number(number)) == (number, text)


def test_key__of_a_row__has_the_number_of_stored_rows_unless_it_is_a_million() -> None:
    assert [key_of(TIME), key_of(TIME, 1_000_000), key_of(TIME, 100_000)] == ["list", "list", "list@100k"]


def test_rows__of_every_measurement__have_different_names_and_a_place() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {kind.place for kind in KINDS} == set(PLACES)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", [row.name for row in ROWS]),
        ("export", ["export-csv", "export-ndjson", "export-memory"]),
        ("cpu,submit", ["submit", "cpu"]),
        ("search", ["search", "search-percent"]),
        ("deliver1", ["deliver1"]),
        ("deliver", ["deliver16", "deliver16-two", "deliver1"]),
    ],
)
def test_only__of_names__chooses_these_in_the_order_of_the_table(text: str, names: list[str]) -> None:
    assert [row.name for row in chosen(text)] == names


def test_only__unknown_name__says_which_are_known() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"unknown: delivery; known: submit, cpu, .*latency$"):
        chosen("submit,delivery")


def test_environment__of_serve_and_of_services__has_none_of_the_settings_that_tests_need(tmp_path: Path) -> None:
    of_tests = service_environment(data_dir=tmp_path)
    before = for_tests(os.environ).keys() - {READY_VARIABLE, BACKEND_VARIABLE}
    places = {"DATA_DIR", "PORT", "PUBLIC_URL", "EVENTS_PORT", "EVENTS_URL", READY_VARIABLE, BACKEND_VARIABLE}
    assert of_make_run(of_tests).keys() - before == places
    assert not [name for name in with_own_pauses(of_tests) if name.endswith(("_POLL_SECONDS", "_SWEEP_SECONDS"))]


@pytest.mark.parametrize("vendor", WANTED)
def test_durability__weaker_than_a_fresh_installation__is_refused(vendor: str) -> None:
    wanted = WANTED[vendor]
    assert check({"vendor": vendor, "settings": wanted})
    for name in wanted:
        with pytest.raises(NotDurable, match=name):
            check({"vendor": vendor, "settings": {**wanted, name: "off"}})
