"""Backup and restore of SQLite, by the commands and against a running service (docs/contract.md 8.24)."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.services.application import ALL_ROLES, Application
from tests.services.client import Client
from tests.services.environment import service_environment

pytestmark = pytest.mark.on_sqlite


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """Yield a service over its own database. Each test leaves it running."""
    directory = tmp_path_factory.mktemp("own")
    environment = service_environment(data_dir=directory / "data")
    place = directory / "service"
    with Application(environment, place, delivers=False, streams=False, forked=ALL_ROLES) as running:
        running.manage("create_organization", "Acme", "--plan", "pro", "--owner", "ada@example.com")
        yield running


def complaint(own: Application, *arguments: str) -> str:
    with pytest.raises(RuntimeError) as caught:
        own.manage(*arguments)
    return str(caught.value)


def count(own: Application, key: str) -> int:
    with Client(own.port) as client:
        return int(client.get("/api/submissions", key).json()["pagination"]["total"])


def submit(own: Application, key: str, number: int) -> None:
    with Client(own.port) as client:
        assert [client.post("/api/submit", key, json={"a": "b"}).status for _ in range(number)] == [201] * number


def kill_and_restart(own: Application, *commands: tuple[str, ...]) -> None:
    """Kill the web, which leaves its log of writes next to the file, run commands, and start it again."""
    own.kill_web()
    for command in commands:
        own.manage(*command)
    own.start_role("web").wait_until(own.is_ready)


def test_backup__while_it_serves__is_restored_after_a_kill(own: Application, tmp_path: Path) -> None:
    """A plain copy over the file left the newer `-wal` next to it: a corrupt database."""
    backup = tmp_path / "backup.sqlite3"
    key = own.manage("create_key", "--organization", "acme", "--name", "Test").strip()
    submit(own, key, 3)
    own.manage("backup", str(backup))
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert list(tmp_path.glob("backup.*")) == [backup]  # one file to copy
    submit(own, key, 200)
    kill_and_restart(own, ("restore", str(backup), "--replace"), ("migrate",))
    assert count(own, key) == 3
    submit(own, key, 1)
    with closing(sqlite3.connect(Path(own.environment["DATA_DIR"]) / "fieldpost.sqlite3")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_backup_and_restore__that_would_lose_something__say_what_to_do(own: Application, tmp_path: Path) -> None:
    """An existing file, a foreign file, a present database, and a service that still runs."""
    backup, foreign = tmp_path / "backup.sqlite3", tmp_path / "foreign.sqlite3"
    own.manage("backup", str(backup))
    foreign.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    assert "Choose a new file" in complaint(own, "backup", str(backup))
    assert "not a backup of this service" in complaint(own, "restore", str(foreign))
    assert "Add --replace" in complaint(own, "restore", str(backup))
    assert "Stop the service first" in complaint(own, "restore", str(backup), "--replace")
