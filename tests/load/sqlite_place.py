"""A directory for the rows on SQLite, and their durability."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.load import durability
from tests.load.running import Options, with_own_pauses
from tests.services.application import Application
from tests.services.environment import service_environment

_DATABASE = (
    "import json; from django.conf import settings; print(json.dumps(str(settings.DATABASES['default']['NAME'])))"
)
_ARRANGE = "from tests.load import arrangement; arrangement.main()"


@dataclass(frozen=True)
class SQLitePlace:
    """
    A service on SQLite with one web process, which is the default, and without delivering.

    `database`: its file. `durability`: its settings in a sentence.
    """

    service: Application
    directory: Path
    database: Path
    path: str
    key: str
    durability: str


@contextmanager
def running_sqlite(_options: Options) -> Iterator[SQLitePlace]:
    """Yield the service, started here."""
    with tempfile.TemporaryDirectory(prefix="fieldpost-bench-", ignore_cleanup_errors=True) as name:
        environment = with_own_pauses(service_environment(data_dir=Path(name) / "submit"))
        with Application(environment, Path(name) / "web", delivers=False, streams=False) as service:

            def shell(code: str) -> str:
                return service.manage("shell", "--verbosity", "0", "--command", code)

            arranged = json.loads(shell(_ARRANGE))
            settings = durability.check(json.loads(shell(durability.COMMAND)))
            path = f"/api/submit?formId={arranged['form_id']}"
            database = Path(json.loads(shell(_DATABASE)))
            yield SQLitePlace(service, Path(name), database, path, arranged["key"], settings)
