"""README.md: its length, its figures, and the cells of its table about other products."""

import re
import tomllib
from urllib.parse import urlsplit

import pytest

from tests.checks.sources import ROOT

README = (ROOT / "README.md").read_text()
DELIVERY = (ROOT / "docs" / "delivery.md").read_text()
MOST_LINES = 90
PRODUCTS = ["**Fieldpost**", "Formspree", "Basin", "Netlify Forms", "OpnForm", "Formbricks"]
QUESTIONS = [
    *("your own machine?", "single sign-on free?", "plain HTML?", "files?", "spam without third parties?"),
    *("retries and log?", "over quota: lost?", "test mode?", "complete export?", "licence"),
]
SOURCES = {
    "Formspree": {"help.formspree.io", "github.com/formspree"},
    "Basin": {"docs.usebasin.com", "usebasin.com"},
    "Netlify Forms": {"docs.netlify.com", "github.com/netlify"},
    "OpnForm": {"github.com/OpnForm"},
    "Formbricks": {"github.com/formbricks"},
}
NOBODY_COULD_READ = "\N{EN DASH}"
CELL = re.compile(r"\[[^\[\]]+\]\((\S+)\)")
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in README.partition("## Compared")[2].partition("\n## ")[0].splitlines()
    if line.startswith("|")
]
TABLE = {row[0]: dict(zip(ROWS[0][1:], row[1:], strict=True)) for row in ROWS[2:]}


def test_readme__is_read_in_a_minute() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_faults__are_those_of_the_table() -> None:
    measured, _, below = DELIVERY.partition("<!-- faults: begin -->")[2].partition("<!-- faults: end -->")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in measured.splitlines() if row.startswith("| F")]
    assert [row[0].split()[0] for row in rows if row[2] != "pass"] == ["F26"] == re.findall(r"(F\d+) fails", below)
    claim = f"{len(rows)} runs of faults on SQLite and PostgreSQL, {sum(int(row[3]) for row in rows)} kills, 0 lost"
    date = re.search(r"Measured on (\S+) ", measured)
    assert date is not None
    kept = re.search(r"- \*\*Kept\.\*\* .*?: (.*?)\s+\(\[the table\]\S+ of (\S+),", README, re.DOTALL)
    assert kept is not None
    assert kept.groups() == (claim, date[1])


def test_table__has_ten_questions_and_six_products() -> None:
    assert (ROWS[0], list(TABLE)) == (["", *PRODUCTS], QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS)
def test_cells__about_others__lead_to_pages_of_the_vendor(question: str) -> None:
    for product, allowed in SOURCES.items():
        cell = TABLE[question][product]
        found = CELL.fullmatch(cell)
        assert cell == NOBODY_COULD_READ or found, (product, cell)
        if found:
            address = urlsplit(found[1])
            owner = address.path.split("/")[1]
            assert address.scheme == "https"
            assert {address.netloc, f"{address.netloc}/{owner}"} & allowed, (product, cell)


@pytest.mark.parametrize("question", QUESTIONS)
def test_cells__about_us__lead_into_this_repository(question: str) -> None:
    found = CELL.fullmatch(TABLE[question]["**Fieldpost**"])
    assert found is not None
    assert (ROOT / found[1].partition("#")[0]).is_file()


def test_proofs__of_the_reasons__are_tests_that_exist() -> None:
    reasons = README.partition("## Why this one")[2].partition("\n## ")[0]
    assert reasons.count("\n- **") == 4
    assert re.findall(r"`(tests/[\w/.]+)`", reasons)
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", reasons) if not (ROOT / path).exists()] == []


def test_package__has_the_name_of_the_readme_for_what_it_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["description"].startswith("A self-hosted form backend")
    assert "**A self-hosted form backend.**" in README
