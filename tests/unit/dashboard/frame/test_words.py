"""The texts that pages give their scripts."""

import re

from django.utils import translation

from dashboard.frame.design.words import words_of_scripts
from tests.services.processes import ROOT

SCRIPTS = ROOT / "dashboard" / "static" / "dashboard"
USED = re.compile(r"\bwords\.(\w+)")


def test_words__of_all_scripts__are_those_that_a_page_has() -> None:
    used = {name for path in SCRIPTS.glob("*.js") for name in USED.findall(path.read_text())}
    assert used == set(words_of_scripts())


def test_thousands__in_german__are_separated_as_the_service_separates_them() -> None:
    with translation.override("de"):
        assert words_of_scripts()["thousands"] == "."
