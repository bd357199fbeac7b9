"""`config.api.ids` and `config.api.times` stay only for migrations that have landed and must not be edited."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard", "tests")
FIRST = {f"{app}/migrations/0001_initial.py" for app in ("keys", "forms_app", "submissions", "webhooks")}
KEYS = {"keys/migrations/0002_access_key_secret_made_at.py", "keys/migrations/0003_invitation.py"}


def importers(name: str) -> set[str]:
    """Return the files that import `config.api.NAME`."""
    found = set()
    may_import = re.compile(rf"config\.api\.{name}\b|config\.api\s")  # parsing every file takes a second
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if may_import.search(text) else ():
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if f"config.api.{name}" in {*names, module} or (module == "config.api" and name in names):
                found.add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("name", ["ids", "times"])
def test_old_module__is_imported_by_landed_migrations_only(name: str) -> None:
    """A new file here means: import `config.ids` or `config.times` instead."""
    assert importers(name)
    assert importers(name) <= FIRST | KEYS
