"""Old paths of `config.base.ids` and `times` stay only for migrations that have landed and must not be edited."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard", "tests")
LANDED = {
    *(f"{app}/migrations/0001_initial.py" for app in ("keys", "forms_app", "submissions", "webhooks")),
    *(f"{app}/migrations/0004_database_defaults.py" for app in ("forms_app", "submissions", "webhooks")),
    "forms_app/migrations/0005_recipient.py",
    "forms_app/migrations/0006_form_report.py",
    "forms_app/migrations/0009_replies.py",
    "forms_app/migrations/0010_recipient_questions.py",
    "keys/migrations/0002_access_key_secret_made_at.py",
    "keys/migrations/0003_invitation.py",
    "keys/migrations/0005_notice.py",
    "keys/migrations/0006_database_defaults.py",
    "keys/migrations/0009_held_posts.py",
    "keys/migrations/0011_remembered_answers.py",
    "submissions/migrations/0011_files.py",
    "submissions/migrations/0012_confirmation.py",
    "webhooks/migrations/0003_messages_and_channels.py",
    "webhooks/migrations/0012_destinations.py",
}


def importers(package: str, name: str) -> set[str]:
    """Return the files that import `PACKAGE.NAME`."""
    found = set()
    may_import = re.compile(rf"{package}\.{name}\b|{package}\s")  # parsing every file takes a second
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if may_import.search(text) else ():
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if f"{package}.{name}" in {*names, module} or (module == package and name in names):
                found.add(path.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("package", ["config", "config.api"])
@pytest.mark.parametrize("name", ["ids", "times"])
def test_old_module__is_imported_by_landed_migrations_only(package: str, name: str) -> None:
    """A new file here means: import `config.base.ids` or `config.base.times` instead."""
    assert importers(package, name)
    assert importers(package, name) <= LANDED
