"""The table of `make bench`: medians, spreads, verdicts, kept figures. The measurements themselves are `make bench`."""

import os
from pathlib import Path

import pytest

from tests.load.durability import WANTED, NotDurable, check
from tests.load.report.figures import Result, Round, Row
from tests.load.report.kept import Kept
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
