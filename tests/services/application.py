"""The service under test, as it runs for real: `manage.py serve`, and on PostgreSQL Celery's worker and beat."""

import http.client
import shutil
import socket
import sys
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

from celery import Celery

from tests.services.backing import FIRST_PERSON, MIGRATE, migrated_sqlite
from tests.services.commands import CommandServer
from tests.services.environment import FILE_NAME, POSTGRESQL, SQLITE, sqlite_url
from tests.services.processes import Process
from tests.services.waiting import eventually

READY_SECONDS = 60.0
KEY_PREFIX = "fieldpost:"  # of the broker's keys; not read from the settings, which `make faults` does not load
GUNICORN: list[str | Path] = [
    Path(sys.executable).parent / "gunicorn",
    *("--config", "config/web_server/settings.py", "config.wsgi"),
]
ALL_ROLES = ("web", "worker", "beat")
CELERY = [sys.executable, "-m", "celery", "-A", "config"]


class Application:
    """
    The roles of one running service. Its environment has its addresses and its database. Its settings are the
    project's own, but for quick passwords (`tests/services/settings.py`).

    On SQLite `serve` delivers by itself; on PostgreSQL worker and beat deliver instead. With
    `delivers=False` nothing delivers: a second service over a database that another one already looks after. With
    `streams=False` there is no live stream; with `has_people=False` nobody has an account. The roles in `forked` start
    as forks of a process that has imported other packages (`tests/services/forks.py`), each time that `start_role`
    starts them.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        directory: Path,
        *,
        backend: str = SQLITE,
        delivers: bool = True,
        streams: bool = True,
        migrates: bool = True,
        has_people: bool = True,
        forked: Collection[str] = (),
    ) -> None:
        self.environment = {**environment, "DJANGO_SETTINGS_MODULE": "tests.services.settings"}
        self.directory = directory
        self.backend = backend
        self.delivers = delivers
        self.streams = streams
        self.migrates = migrates
        self.has_people = has_people
        self.forked = forked
        self.port = int(environment["PORT"])
        self.events_port = int(environment["EVENTS_PORT"])
        self.base_url = environment["PUBLIC_URL"]
        self.processes: dict[str, Process] = {}
        self._commands: CommandServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start every role. Return when /readyz answers 200 and, with Celery, a worker answers too."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            if self.migrates:
                self.migrate()
            for role in self.roles():
                self.start_role(role)
            self.processes[self.roles()[0]].wait_until(self.is_ready, READY_SECONDS)
            if "worker" in self.processes:
                self.processes["worker"].wait_until(self._worker_answers, READY_SECONDS)
        except BaseException:
            self.stop()
            raise

    def migrate(self) -> None:
        """Apply migrations; on SQLite to a copy of the run's migrated database, where there is none yet."""
        file = Path(self.environment["DATA_DIR"]) / FILE_NAME
        is_own = self.environment["DATABASE_URL"] == sqlite_url(file.parent)
        is_new = is_own and not file.exists()
        made = migrated_sqlite(has_people=self.has_people) if is_new else None
        if made:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(made, file)
        self.manage(*MIGRATE)
        if is_new and self.has_people and not made:
            self.manage(*FIRST_PERSON)

    @property
    def commands(self) -> CommandServer:
        """Return what runs `manage.py` in this service's environment, started by its first use."""
        if self._commands is None:
            self._commands = CommandServer(self.environment)
        return self._commands

    def roles(self) -> list[str]:
        return list(ALL_ROLES) if self.backend == POSTGRESQL and self.delivers else ["web"]

    def start_role(self, role: str) -> Process:
        """Start one of `roles` (again): fault tests kill them one by one."""
        command, log = self._command(role), self.directory / f"{role}.log"
        self.processes[role] = Process(role, command, log=log, env=self.environment, forks=role in self.forked)
        return self.processes[role]

    def _command(self, role: str) -> list[str | Path]:
        if role == "worker":
            return [*CELERY, "worker", "--concurrency", "2", "--loglevel", "WARNING"]
        if role == "beat":
            beat = [*CELERY, "--skip-checks", "beat", "--loglevel", "WARNING"]
            return [*beat, "--schedule", self.directory / "beat-schedule"]
        serve: list[str | Path] = [sys.executable, "manage.py", "serve", "--no-migrate"]
        delivers_itself = self.delivers and self.backend == SQLITE
        options = [*([] if delivers_itself else ["--no-deliver"]), *([] if self.streams else ["--no-events"])]
        return [*serve, *options]

    def is_ready(self) -> bool:
        """Return whether the web and the live stream answer."""
        return answers(self.port, "/readyz") and (not self.streams or answers(self.events_port, "/healthz"))

    def _worker_answers(self) -> bool:
        """Ask from this process: `celery inspect ping` loads Django each time."""
        with Celery(broker=self.environment["REDIS_URL"], set_as_current=False) as asking:
            asking.conf.broker_transport_options = {"global_keyprefix": KEY_PREFIX}
            return bool(asking.control.ping(timeout=1))

    def manage(self, *arguments: str, stdin: str = "") -> str:
        """Run `manage.py` with these arguments, as an operator calls it. Return its standard output."""
        result = self.commands.run(arguments, stdin.encode())
        if result.returncode:
            printed = (result.stdout + result.stderr).decode(errors="replace")
            raise RuntimeError(f"manage.py {' '.join(arguments)} ended with {result.returncode}:\n{printed}")
        return result.stdout.decode()

    def stop(self) -> None:
        """Stop beat first and web last, so that no part calls one that has stopped."""
        for process in reversed(self.processes.values()):
            process.stop()
        self.processes.clear()
        if self._commands is not None:
            self._commands.close()
            self._commands = None

    def kill_web(self) -> None:
        """Kill the web role and wait for its children, which end when they see that their parent is gone."""
        self.processes["web"].kill()
        eventually(lambda: not is_listened_to(self.port), because="the web processes have ended")

    def logs(self) -> dict[str, str]:
        """Return each role's last lines since `forget_logs`; roles that printed nothing are left out."""
        tails = {role: process.tail() for role, process in self.processes.items()}
        return {role: tail for role, tail in tails.items() if tail}

    def forget_logs(self) -> None:
        for process in self.processes.values():
            process.forget()


class LoneRole(Application):
    """
    The web as its own unit starts it, or the live stream: without `serve`.

    It is a fork of a process that has imported other packages.
    """

    def __init__(self, environment: Mapping[str, str], directory: Path, *, role: str = "web", backend: str) -> None:
        """`role` is `web` or `events`. The database must have its schema already."""
        one = {**environment, "WEB_CONCURRENCY": "1"}
        super().__init__(one, directory, backend=backend, delivers=False, migrates=False)
        self.role = role

    def roles(self) -> list[str]:
        return [self.role]

    def is_ready(self) -> bool:
        """Return whether this role answers."""
        return answers(self.port, "/readyz") if self.role == "web" else answers(self.events_port, "/healthz")

    def start_role(self, role: str) -> Process:
        programs: dict[str, list[str | Path]] = {"web": GUNICORN, "events": ["manage.py", "events"]}
        command = [sys.executable, *programs[role]]
        log = self.directory / f"{role}.log"
        self.processes[role] = Process(role, command, log=log, env=self.environment, forks=True)
        return self.processes[role]


def is_listened_to(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def answers(port: int, path: str) -> bool:
    """Return whether this path answers 200 now."""
    with (
        suppress(OSError, http.client.HTTPException),
        closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection,
    ):
        connection.request("GET", path)
        return connection.getresponse().status == 200
    return False
