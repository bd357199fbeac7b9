"""The tables of settings and of system checks in docs/running.md, compared with the code that reads and checks them."""

import ast
import re

from tests.checks.sources import ROOT

APPS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard")
READ_BEFORE_THE_FILE = {"DATA_DIR"}  # from os.environ: it says where the file of the others is


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
