"""
An upgrade that nobody notices: the last release serves under load while today's migrations run, and afterwards.

One service of the release, for both tests; the second one shows that the first can fail.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.services.client import Answer, Client
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.postgresql import create_database, drop_database
from tests.services.processes import ROOT
from tests.services.waiting import eventually
from tests.support.migrations.releases import Release, check_out, copy_of_this_tree, last_release
from tests.support.migrations.rules import STANDSTILLS

NAME = "upgraded"
THREADS = 2
ENOUGH = 5  # answers of each kind, before and after a migration
SECONDS = 30.0
FORM = {"name": "Contact", "fields": [{"name": "text", "label": "Text", "type": "Text"}]}
REQUESTS: Mapping[str, Callable[[Client, str], Answer]] = {
    "submit": lambda client, key: client.post("/api/submit", key, json={"text": "Hello"}),
    "make a form": lambda client, key: client.post("/api/forms", key, json=FORM),
    "make a key": lambda client, key: client.post("/api/keys", key, json={"name": "Reader"}),
    "list forms": lambda client, key: client.get("/api/forms?limit=100", key),
    "list submissions": lambda client, key: client.get("/api/submissions?q=hello", key),
    "count": lambda client, key: client.get("/api/analytics", key),
    "export": lambda client, key: client.get("/api/submissions/export?format=csv", key),
}
PREPARE = """
from django.core.management import call_command
call_command("migrate", "--verbosity", "0")
call_command("create_organization", "Acme", "--plan", "enterprise", "--owner", "ada@example.com")
call_command("create_key", "--organization", "acme", "--name", "Test", "--admin")
"""
THROW_AWAY = """
from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("forms_app", {before!r})]
    operations = [migrations.AddField("form", "extra", models.CharField(default="x", max_length=5))]
"""


@dataclass
class Load:
    """Requests of every kind from THREADS clients, until stopped."""

    port: int
    key: str
    answers: "Counter[tuple[str, int]]" = field(default_factory=Counter)
    stored: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Load":
        self.threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def _run(self) -> None:
        with Client(self.port) as client:
            while not self.stopping.is_set():
                for kind, request in REQUESTS.items():
                    answer = request(client, self.key)
                    self.answers[kind, answer.status] += 1
                    if kind == "submit" and answer.status == 201:
                        self.stored.append(answer.json()["data"]["id"])

    def wait_for_more(self) -> None:
        """Return once each kind was answered ENOUGH times from now on."""
        before = self._by_kind()
        eventually(lambda: all((self._by_kind() - before)[kind] >= ENOUGH for kind in REQUESTS), SECONDS)

    def _by_kind(self) -> "Counter[str]":
        counts: Counter[str] = Counter()
        for (kind, _status), count in list(self.answers.items()):
            counts[kind] += count
        return counts

    def failures(self) -> dict[tuple[str, int], int]:
        """Return the answers that are not a 2xx."""
        return {answer: count for answer, count in self.answers.items() if not 200 <= answer[1] < 300}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield settings over a new database, without Redis."""
    server = os.environ["DATABASE_URL"]
    yield service_environment(
        data_dir=tmp_path_factory.mktemp("data"), backend=POSTGRESQL, database_url=create_database(server, NAME)
    )
    drop_database(server, NAME)


@pytest.fixture(scope="module")
def prepared(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, str]:
    """
    Return the last release and a key, after it migrated: in one process, since each loads the release again.

    A release of before a standstill cannot serve meanwhile. Until the next one this tree takes its place.
    """
    tree = check_out(last_release(), tmp_path_factory.mktemp("release"))
    if not all((tree / app / "migrations" / f"{name}.py").exists() for app, name in STANDSTILLS):
        tree = copy_of_this_tree(tmp_path_factory.mktemp("tree"))
    code = Release(tree, environment)
    return code, code.manage("shell", "--verbosity", "0", "--command", PREPARE).split()[-1]


@pytest.fixture(scope="module")
def release(prepared: tuple[Release, str]) -> Iterator[Release]:
    """Yield the release, serving that database."""
    with prepared[0] as code:
        yield code


@pytest.fixture(scope="module")
def key(prepared: tuple[Release, str]) -> str:
    return prepared[1]


@pytest.fixture(scope="module")
def upgraded(release: Release, key: str) -> Load:
    """Return what the clients of the release saw while today's code migrated, and after."""
    with Load(release.port, key) as load:
        load.wait_for_more()
        Release(ROOT, release.environment).manage("migrate", "--verbosity", "0")
        load.wait_for_more()
    return load


def rows(environment: Mapping[str, str], query: str) -> list[Any]:
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        return connection.execute(query).fetchall()


def test_release__while_todays_migrations_run_and_after__answers_everything(
    upgraded: Load, environment: dict[str, str]
) -> None:
    """No 5xx, no accepted submission lost, none left undispatched by the release's own deliverer."""
    assert upgraded.failures() == {}
    assert rows(environment, "SELECT count(*) FROM submissions_submission") == [(len(upgraded.stored),)]
    undispatched = "SELECT count(*) FROM submissions_submission WHERE dispatched_at IS NULL"
    eventually(lambda: rows(environment, undispatched) == [(0,)], SECONDS)


def test_release__on_a_column_without_a_default__fails_visibly(
    upgraded: Load, release: Release, tmp_path: Path
) -> None:
    """The test above can fail: a throw-away migration breaks the release's form creation, and only that."""
    tree = copy_of_this_tree(tmp_path)
    folder = tree / "forms_app" / "migrations"
    before = max(path.stem for path in folder.glob("0*.py"))
    (folder / "9999_throw_away.py").write_text(THROW_AWAY.format(before=before))
    Release(tree, release.environment).manage("migrate", "--verbosity", "0")
    with Load(release.port, upgraded.key) as load:
        load.wait_for_more()
    assert set(load.failures()) == {("make a form", 500)}
