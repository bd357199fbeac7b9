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
