"""
No figure of a run counts with weaker durability: the settings are read and checked before the first round.

Runs inside `manage.py shell` too, over the connections that the service itself would open: `main()` prints a line of
JSON with the settings of each.
"""

import json
from typing import Any

from django.db import connection

WANTED: dict[str, dict[str, object]] = {
    "postgresql": {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"},
    "sqlite": {"synchronous": 2, "journal_mode": "wal"},  # 2 is FULL: https://sqlite.org/pragma.html#pragma_synchronous
}
COMMAND = "from tests.load import durability; durability.main()"


class NotDurable(Exception):
    """A setting lets a submission that was answered 201 be lost."""


def check(settings: dict[str, Any]) -> str:
    """Return the settings in a sentence. Raises NotDurable. `settings` come from `main()`."""
    wanted = WANTED[settings["vendor"]]
    found = {name: settings["settings"].get(name) for name in wanted}
    if found != wanted:
        raise NotDurable(f"{settings['vendor']} runs with {found}, not with {wanted}")
    return ", ".join(f"{name} {value}" for name, value in found.items())


def main() -> None:
    """Print `{"vendor", "settings"}` of the connection that writes."""
    keyword = "SHOW" if connection.vendor == "postgresql" else "PRAGMA"
    settings = {}
    with connection.cursor() as cursor:
        for name in WANTED[connection.vendor]:
            cursor.execute(f"{keyword} {name}")
            settings[name] = cursor.fetchone()[0]
    print(json.dumps({"vendor": connection.vendor, "settings": settings}))
