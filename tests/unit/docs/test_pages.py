"""Documents compared with what they describe: CONTRIBUTING.md, and of docs/ delivery, security and running."""

import ast
import re

import pytest

from tests.checks.sources import ROOT
from tests.support.verifying.samples import BODY, ID, SAMPLES, SECRET, SIGNATURE, SUFFIXES, TIME
from webhooks.events import public_events

MOST_FILES = 5
ADDING = (ROOT / "CONTRIBUTING.md").read_text().partition("## Adding something")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| ([a-z ]+) \| (.*) \|$", ADDING, re.MULTILINE))
DELIVERY = (ROOT / "docs" / "delivery.md").read_text()
SECURITY = (ROOT / "docs" / "security.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
APPS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
# From os.environ: where the file of the others is, and what only gunicorn reads.
READ_BEFORE_THE_FILE = {"DATA_DIR", "WEB_HOST"}


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


@pytest.mark.parametrize("language", SUFFIXES)
def test_sample__of_the_page__is_the_file_that_is_run(language: str) -> None:
    section = re.split(rf"^### {language}$", DELIVERY, flags=re.MULTILINE | re.IGNORECASE)[-1]
    shown = re.search(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1] == (SAMPLES / f"verify.{SUFFIXES[language]}").read_text()


def test_samples__in_the_folder__are_all_on_the_page() -> None:
    assert {path.name for path in SAMPLES.iterdir() if path.is_file()} == {f"verify.{one}" for one in SUFFIXES.values()}


def test_vector__of_the_page__is_the_one_that_is_run() -> None:
    table = DELIVERY.partition("| test vector | |\n")[2].partition("\n\n")[0]
    assert re.findall(r" \| `([^`]*)` \|$", table, re.MULTILINE) == [SECRET, ID, str(TIME), BODY, SIGNATURE]


def functions_of(path: str) -> set[str]:
    """Return the names of the test functions of a module; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text()) if file.is_file() else ast.Module(body=[], type_ignores=[])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.slow
def test_security_page__names_tests_that_exist() -> None:
    named = NAMED.findall(SECURITY)
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


def test_security_page__has_a_test_for_every_promise() -> None:
    """A row without one is a promise that nobody holds."""
    rows = [line for line in SECURITY.splitlines() if line.startswith("| ") and "| held by |" not in line]
    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row)] == []


def settings_read(text: str) -> set[str]:
    """Return the names that a module asks `env` for: `env("A")`, `env.int("B", …)`."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    first = [call.args[0] for call in calls if call.args and re.fullmatch(r"env(\.\w+)?", ast.unparse(call.func))]
    return {str(argument.value) for argument in first if isinstance(argument, ast.Constant)}


def test_settings__every_one_that_is_read__is_in_the_table_and_none_is_invented() -> None:
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", (ROOT / "docs" / "running.md").read_text(), re.MULTILINE)
    table = [name for row in rows for name in re.findall("[A-Z_]+", row)]
    assert len(table) == len(set(table))
    assert set(table) == settings_read((ROOT / "config" / "settings.py").read_text()) | READ_BEFORE_THE_FILE


def test_checks__every_one_of_the_code__is_in_the_table_and_none_is_invented() -> None:
    table = re.findall(r"^\| `(fieldpost\.[EW]\d+)` \| \S", (ROOT / "docs" / "running.md").read_text(), re.MULTILINE)
    modules = [path for app in APPS for path in (ROOT / app).rglob("*.py")]
    known = {name for path in modules for name in re.findall(r'id="(fieldpost\.\w+)"', path.read_text())}
    assert table == sorted(known)


def test_settings_read__of_a_module__are_found_in_every_way_that_they_are_written() -> None:
    assert settings_read('A = env("A")\nb(env.int("B", default=1).do("C"))\nother.str("C")') == {"A", "B"}
