"""docs/delivery.md: its samples are the files that are run, and its test vector is theirs."""

import re

import pytest

from tests.checks.sources import ROOT
from tests.support.verifying.samples import BODY, ID, SAMPLES, SECRET, SIGNATURE, SUFFIXES, TIME

PAGE = (ROOT / "docs" / "delivery.md").read_text()


@pytest.mark.parametrize("language", SUFFIXES)
def test_sample__of_the_page__is_the_file_that_is_run(language: str) -> None:
    section = re.split(rf"^### {language}$", PAGE, flags=re.MULTILINE | re.IGNORECASE)[-1]
    shown = re.search(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1] == (SAMPLES / f"verify.{SUFFIXES[language]}").read_text()


def test_samples__in_the_folder__are_all_on_the_page() -> None:
    assert {path.name for path in SAMPLES.iterdir() if path.is_file()} == {f"verify.{one}" for one in SUFFIXES.values()}


def test_vector__of_the_page__is_the_one_that_is_run() -> None:
    table = PAGE.partition("| test vector | |\n")[2].partition("\n\n")[0]
    assert re.findall(r" \| `([^`]*)` \|$", table, re.MULTILINE) == [SECRET, ID, str(TIME), BODY, SIGNATURE]


def test_faults__of_the_readme__are_those_of_the_table() -> None:
    measured = PAGE.partition("<!-- faults: begin -->")[2].partition("<!-- faults: end -->")[0]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in measured.splitlines() if row.startswith("| F")]
    assert {row[2] for row in rows} == {"pass"}
    claim = f"{len(rows)} runs of faults on SQLite and PostgreSQL, {sum(int(row[3]) for row in rows)} kills, 0 lost"
    date = re.search(r"Measured on (\S+) ", measured)
    assert date is not None
    found = re.search(
        r"^\| Nothing is lost \| (.*?) \| .* of (\S+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert found is not None
    assert found.groups() == (claim, date[1])
