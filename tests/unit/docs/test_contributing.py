"""CONTRIBUTING.md: which files something new touches, where folders are listed; and the events of docs/contract.md."""

import re

import pytest

from tests.checks.sources import ROOT
from webhooks.events import public_events

MOST_FILES = 5
TEXT = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding something")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", TEXT, re.MULTILINE))


def test_table__holds_every_kind_of_addition() -> None:
    kinds = {"field type", "event", "channel", "destination kind", "dashboard page", "endpoint", "setting"}
    assert kinds <= ROWS.keys()


@pytest.mark.parametrize(
    "kind", ["field type", "event", "channel", "destination kind", "dashboard page", "endpoint", "setting"]
)
def test_row__names_files_that_exist__at_most_five(kind: str) -> None:
    named = set(re.findall(r"`([\w./<>-]+\.(?:py|html|md|example))`", ROWS[kind]))
    assert 3 <= len(named) <= MOST_FILES
    assert [path for path in named if "<" not in path and not (ROOT / path).is_file()] == []


def test_public_events__are_those_that_the_contract_names() -> None:
    promise = re.search(r"^\*\*7\.3 .*?\n\n", (ROOT / "docs" / "contract.md").read_text(), re.MULTILINE | re.DOTALL)
    assert promise is not None
    assert re.findall(r"`([a-z_]+\.[a-z_]+)`", promise[0]) == [name for name, _ in public_events()]


def test_folders_of_code__are_all_listed_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    apps = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
    found = {path.parent.relative_to(ROOT) for app in apps for path in (ROOT / app).rglob("*.py")}
    of_django = {"migrations", "management", "commands", "templatetags"}
    missing = [folder for folder in sorted(found) if folder.name not in of_django and f"`{folder}/`" not in text]
    assert missing == []
