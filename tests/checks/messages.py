"""
Write new texts of the source into the catalogues, and build what Django reads: `python -m tests.checks.messages`.

A catalogue lies in the app whose files have its texts, and in `templates`. GNU gettext does the work, by Django's own
commands. A date in each header would change with every run, so there is none.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.checks.sources import ROOT

ROOMS = ("config", "dashboard", "forms_app", "keys", "submissions", "templates", "webhooks")
LANGUAGES = ("de", "ar")
ELSEWHERE = (".*", "build", "data", "deploy", "docs", "tests", "migrations", "static")
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "SECRET_KEY": "x" * 50,
    "DATABASE_URL": "sqlite://:memory:",
    "DATA_DIR": "build/messages",
    "DEBUG": "1",
}
DATED = ('"POT-Creation-Date', '"PO-Revision-Date')


def catalogues(root: Path, language: str) -> Iterator[Path]:
    """Yield the catalogues of a language; the file that Django reads is next to each, and ends in `.mo`."""
    for room in ROOMS:
        yield root / room / "locale" / language / "LC_MESSAGES" / "django.po"


def write(root: Path) -> None:
    """Bring the catalogues below `root` up to date with its source. Raises CalledProcessError."""
    for room in ROOMS:
        (root / room / "locale").mkdir(exist_ok=True)
    ignored = [option for pattern in ELSEWHERE for option in ("--ignore", pattern)]
    languages = [option for language in LANGUAGES for option in ("--locale", language)]
    _manage(root, "makemessages", *languages, *ignored, "--no-obsolete", "--add-location", "file")
    for language in LANGUAGES:
        for path in catalogues(root, language):
            if path.exists():
                _normalize(path)
    _manage(root, "compilemessages", *ignored)


def _normalize(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if line.startswith("msgid"))  # Django's advice is above
    path.write_text("".join(line for line in lines[first:] if not line.startswith(DATED)))


def _manage(root: Path, *arguments: str) -> None:
    command = [sys.executable, str(root / "manage.py"), *arguments]
    environment = os.environ | SETTINGS
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    write(ROOT)
