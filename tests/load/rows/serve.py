"""`serve` as `make run` starts it, on SQLite: time to the first answer, and memory at rest. Memory of all roles."""

import http.client
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from tests.load.memory import tree_bytes
from tests.load.report.figures import Round, Row
from tests.load.request import BODY
from tests.load.rows.kinds import Kind, OneRound
from tests.load.running import WEB_PROCESSES, Options, Place, with_own_pauses
from tests.load.sqlite_place import SQLitePlace
from tests.services.application import Application
from tests.services.environment import PAUSES, POSTGRESQL, service_environment
from tests.services.postgresql import create_database
from tests.services.processes import ROOT, Process
from tests.services.waiting import let_pass

MEGABYTE = 1e6
IDLE_SECONDS = 3.0  # after the first submission, which it delivers
LONGEST_START_SECONDS = 60.0
START = Row(
    "serve-start",
    "`manage.py serve` on SQLite with the environment of `make run`: start to first 201, over an existing database",
    "",
    "s",
    mark=3,
    aim=1.5,
)
MEMORY = Row("serve-memory", "The same: memory (PSS) of all its processes, idle", "", "MB", mark=300, aim=150)
ROLES_MEMORY = Row(
    "roles-memory",
    "`serve` with two web processes, a worker with two, and beat, over PostgreSQL and Redis: memory (PSS), idle",
    "",
    "MB",
    mark=450,
    aim=450,
)
# Settings of tests: without them the environment is that of `make run`, but for addresses and directory.
TESTS_HAVE = ("SECRET_KEY", "DATABASE_URL", "WEB_CONCURRENCY", "EMAIL_URL", "DEFAULT_FROM_EMAIL",
              "WEBHOOK_ALLOWED_NETWORKS", "WEBHOOK_ALLOW_HTTP", "PROOF_OF_WORK_HASHES",
              "SIGN_UP", "DEFAULT_PLAN", *PAUSES)  # fmt: skip


def of_make_run(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment of tests without their settings."""
    return {name: value for name, value in environment.items() if name not in TESTS_HAVE}


@contextmanager
def running(place: SQLitePlace, _options: Options) -> Iterator[OneRound]:
    """Start it once, so that database, demo and compiled modules exist; then yield a round that starts it."""
    data_dir = place.directory / "serve"
    environment = of_make_run(service_environment(data_dir=data_dir))
    _run(["-m", "config.write_env"], environment)
    _run(["manage.py", "migrate", "--verbosity", "0"], environment)
    code = "from tests.load import arrangement; arrangement.main()"
    arranged = json.loads(_run(["manage.py", "shell", "--verbosity", "0", "--command", code], environment))
    with _started(environment, arranged, data_dir):
        pass

    def one_round() -> dict[str, Round]:
        with _started(environment, arranged, data_dir) as (process, seconds):
            let_pass(IDLE_SECONDS)
            memory = tree_bytes(process.popen.pid)
        return {START.name: Round(seconds), MEMORY.name: Round(memory / MEGABYTE)}

    yield one_round


@contextmanager
def running_roles(place: Place, _options: Options) -> Iterator[OneRound]:
    """Yield a round that starts every role over the same database, and lets them rest."""
    service = place.bench.application
    database_url = create_database(place.bench.postgresql.url, "roles")
    environment = service_environment(
        data_dir=place.directory / "roles",
        backend=POSTGRESQL,
        database_url=database_url,
        redis_url=service.environment["REDIS_URL"],
        web_concurrency=WEB_PROCESSES,
    )

    def one_round() -> dict[str, Round]:
        with Application(with_own_pauses(environment), place.directory / "roles-logs", backend=POSTGRESQL) as roles:
            let_pass(IDLE_SECONDS)
            memory = sum(tree_bytes(process.popen.pid) for process in roles.processes.values())
        return {ROLES_MEMORY.name: Round(memory / MEGABYTE)}

    yield one_round


@contextmanager
def _started(
    environment: Mapping[str, str], arranged: Mapping[str, str], data_dir: Path
) -> Iterator[tuple[Process, float]]:
    """Yield the running service, and the seconds from its start to the first 201."""
    start = time.monotonic()
    process = Process("serve", [sys.executable, "manage.py", "serve"], log=data_dir / "log", env=environment)
    try:
        while not _submits(int(environment["PORT"]), arranged):
            assert process.running, process.tail()
            assert time.monotonic() < start + LONGEST_START_SECONDS, process.tail()
            let_pass(0.01)
        yield process, time.monotonic() - start
    finally:
        process.stop(signal.SIGINT)


def _submits(port: int, arranged: Mapping[str, str]) -> bool:
    """Return whether a submission is accepted now. It waits if something listens but does not answer yet."""
    headers = {"x-access-key": arranged["key"], "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_START_SECONDS)) as connection:
        try:
            connection.request("POST", f"/api/submit?formId={arranged['form_id']}", body=BODY, headers=headers)
            return connection.getresponse().status == 201
        except (OSError, http.client.HTTPException):
            return False


def _run(arguments: list[str], environment: Mapping[str, str]) -> str:
    result = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=dict(environment), capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""


KINDS = Kind((START, MEMORY), "sqlite", running), Kind((ROLES_MEMORY,), "service", running_roles)
