"""The catalogues are those of the source: German is whole, Arabic for visitors, the frame and the lists."""

import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from gettext import GNUTranslations
from pathlib import Path

import pytest

from tests.checks.messages import LANGUAGES, ROOMS, catalogues, write
from tests.services.processes import ROOT

pytestmark = pytest.mark.slow

# Hosted pages and the mails to visitors, and the frame and the lists of the dashboard: never English in Arabic.
WHOLE_IN_ARABIC = (
    "dashboard/frame/design/menu.py",
    "dashboard/html_forms/language.py",
    "dashboard/html_forms/submissions.py",
    "dashboard/pages/submissions/*",
    "dashboard/pages/submissions/*",
    "forms_app/field_kinds.py",
    "forms_app/file_fields/*",
    "forms_app/texts/replies.py",
    "forms_app/validation.py",
    "keys/plans.py",
    "submissions/files/*",
    "submissions/hosted/*",
    "submissions/receiving/*",
    "templates/dashboard/account_language.html",
    "templates/dashboard/audit.html",
    "templates/dashboard/base.html",
    "templates/dashboard/deliveries.html",
    "templates/dashboard/entrance.html",
    "templates/dashboard/forms.html",
    "templates/dashboard/frame.html",
    "templates/dashboard/keys.html",
    "templates/dashboard/members.html",
    "templates/dashboard/page.html",
    "templates/dashboard/parts/bar.html",
    "templates/dashboard/parts/bulk_bar.html",
    "templates/dashboard/parts/column*",
    "templates/dashboard/parts/filter_button.html",
    "templates/dashboard/parts/log*",
    "templates/dashboard/parts/messages.html",
    "templates/dashboard/parts/nav_links.html",
    "templates/dashboard/parts/pages.html",
    "templates/dashboard/parts/palette.html",
    "templates/dashboard/parts/sidebar.html",
    "templates/dashboard/parts/state.html",
    "templates/dashboard/parts/submission_*",
    "templates/dashboard/plain.html",
    "templates/dashboard/refused.html",
    "templates/dashboard/submissions.html",
    "templates/dashboard/webhooks.html",
    "templates/errors/*",
    "templates/hosted/*",
    "templates/mail/*",
    "templates/mails/*",
    "webhooks/mails/*",
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source whose catalogues were just written."""
    copy = tmp_path_factory.mktemp("source")
    for room in ROOMS:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", "static", "*.mo"))
    shutil.copy(ROOT / "manage.py", copy)
    write(copy)
    return copy


def untranslated(path: Path, *, kind: str) -> Iterator[tuple[list[str], str]]:
    """Yield the places and the text of messages: `untranslated` or `only-fuzzy` ones."""
    command = ["msgattrib", f"--{kind}", "--no-obsolete", "--no-wrap", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for entry in found.split("\n\n"):
        lines = entry.splitlines()
        text = "".join(line.partition(" ")[2] for line in lines if line.startswith("msgid "))
        places = [place for line in lines if line.startswith("#: ") for place in line[3:].split()]
        if places:
            yield places, text


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogues__hold_the_texts_of_the_source(tree: Path, language: str) -> None:
    pairs = zip(catalogues(ROOT, language), catalogues(tree, language), strict=True)
    assert [str(ours) for ours, new in pairs if ours.read_text() != new.read_text()] == []  # call `make messages`


@pytest.mark.parametrize("language", LANGUAGES)
def test_built_catalogues__are_those_of_the_texts(tree: Path, language: str) -> None:
    for ours, new in zip(catalogues(ROOT, language), catalogues(tree, language), strict=True):
        with ours.with_suffix(".mo").open("rb") as built, new.with_suffix(".mo").open("rb") as expected:
            assert vars(GNUTranslations(built))["_catalog"] == vars(GNUTranslations(expected))["_catalog"], str(ours)


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogues__have_no_guesses(language: str) -> None:
    assert [text for path in catalogues(ROOT, language) for _, text in untranslated(path, kind="only-fuzzy")] == []


def test_german__is_whole() -> None:
    assert [text for path in catalogues(ROOT, "de") for _, text in untranslated(path, kind="untranslated")] == []


def test_arabic__is_whole_for_visitors_and_for_frame_and_lists() -> None:
    missing = [
        text
        for path in catalogues(ROOT, "ar")
        for places, text in untranslated(path, kind="untranslated")
        if any(fnmatch(place, pattern) for place in places for pattern in WHOLE_IN_ARABIC)
    ]
    assert missing == []
