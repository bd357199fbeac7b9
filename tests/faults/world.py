"""One running service with its database, Redis and receivers, and the ways to hurt it."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.faults import processes
from tests.faults.backing import Backing
from tests.faults.checker.database import Database
from tests.faults.checker.receiver_process import ReceiverProcess
from tests.faults.points import Point, environment
from tests.faults.tenant import Tenant
from tests.services.application import Application, answers
from tests.services.environment import POSTGRESQL, SQLITE, service_environment
from tests.services.processes import Process
from tests.services.redis_server import RedisServer
from tests.services.waiting import eventually

LEASE_SECONDS = 4.0
SWEEP_SECONDS = 1.0
RESTART_SECONDS = 1.0  # a supervisor's pause before it starts an ended role again, as systemd's in deploy/
NAMES = {SQLITE: "SQLite", POSTGRESQL: "PostgreSQL"}
# Only this address is open to webhooks: the trap, on another one of loopback, must not be reached.
SETTINGS = {
    "DELIVERY_LEASE_SECONDS": str(LEASE_SECONDS),
    "DELIVERY_SWEEP_SECONDS": str(SWEEP_SECONDS),
    "DELIVERY_POLL_SECONDS": "0.1",
    "REDIS_RETRY_SECONDS": "1",
    "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.1/32",
}
_ARRANGE = "from tests.faults import arrangement; arrangement.main({spec!r})"


class World:
    """
    The parts of one service. On PostgreSQL: web, worker and beat with Redis, each restarted when it ends; on SQLite:
    `serve`.
    """

    def __init__(
        self,
        backend: str,
        directory: Path,
        backing: Backing,
        *,
        settings: Mapping[str, str] | None = None,
        points: Mapping[str, Point] | None = None,
        data_dir: Path | None = None,
        streams: bool = False,
    ) -> None:
        self.backend = backend
        self.directory = directory
        self.backing = backing
        self._settings = {**SETTINGS, **(environment(*(points or {}).values()) if points else {}), **(settings or {})}
        self.points = dict(points or {})
        self._data_dir = data_dir or directory / "data"
        self._streams = streams
        self._stack = ExitStack()
        self._supervised = threading.Event()  # set: ended roles stay ended
        self.ends = 0  # how often a role was started again

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._data_dir.mkdir(exist_ok=True)
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _start(self) -> None:
        self.receivers = self._stack.enter_context(ReceiverProcess(self.directory / "receivers.log"))
        url, redis_url = "", ""
        if self.backend == POSTGRESQL:
            self.postgresql = self.backing.postgresql
            self.redis = self._stack.enter_context(RedisServer())
            url, redis_url = self.backing.new_postgresql(), self.redis.url
        else:
            self.backing.new_sqlite(self._data_dir / "fieldpost.sqlite3")
        self.environment = service_environment(
            data_dir=self._data_dir,
            backend=self.backend,
            database_url=url,
            redis_url=redis_url,
            web_concurrency=2 if redis_url else 1,
            extra={name: value for name, value in self._settings.items() if value},  # empty: the service's default
        )
        self.database = Database(url or f"sqlite://{self._data_dir / 'fieldpost.sqlite3'}")
        self.application = Application(
            self.environment,
            self.directory / "service",
            backend=self.backend,
            streams=self._streams,
            migrates=False,
            forked=("worker", "beat"),  # the web is looked for by the environment that its exec had, see F17
        )
        self._stack.callback(self.application.stop)  # what `manage` starts as well
        start = time.monotonic()
        self._stack.enter_context(self.application)
        self.start_seconds = time.monotonic() - start
        if self.backend == POSTGRESQL:
            supervisor = threading.Thread(target=self._supervise, daemon=True)
            supervisor.start()
            self._stack.callback(supervisor.join)
            self._stack.callback(self._supervised.set)

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _supervise(self) -> None:
        """Start ended roles again, as systemd does."""
        while not self._supervised.wait(0.1):
            for role, process in list(self.application.processes.items()):
                if not process.running and not self._supervised.wait(RESTART_SECONDS):
                    process.kill()  # the rest of its group
                    self.ends += 1
                    self.application.start_role(role)

    @property
    def port(self) -> int:
        return self.application.port

    @property
    def log_bytes(self) -> int:
        """Return the size of all that the roles have printed."""
        return sum(path.stat().st_size for path in (self.directory / "service").glob("*.log"))

    def logged(self, text: str) -> int:
        """Return how many lines of the roles have this text."""
        logs = (self.directory / "service").glob("*.log")
        return sum(line.count(text) > 0 for path in logs for line in path.read_text(errors="replace").splitlines())

    def tenant(self, prefix: str, forms: Sequence[Sequence[str]], *, recipients: Sequence[str] = ()) -> Tenant:
        """
        Create an organization. `forms` has the endpoints of each form: paths below `prefix` at the receivers, or URLs.
        """
        urls = [[url if ":" in url else self.receivers.url(prefix + url) for url in form] for form in forms]
        spec = json.dumps({"forms": urls, "recipients": list(recipients)})
        command = _ARRANGE.format(spec=spec)
        made = json.loads(self.application.manage("shell", "--verbosity", "0", "--command", command))
        tenant = Tenant(prefix, made, self.receivers.url(""))
        self.receivers.verify_with({path: [secret] for path, secret in tenant.secrets.items()})
        return tenant

    def deliverers(self) -> list[int]:
        """Return the processes that deliver now: the children of the worker, or `deliver` of `serve`."""
        if self.backend == POSTGRESQL:
            return processes.children(self.application.processes["worker"].popen.pid)
        return self.children("deliver")

    def children(self, word: str) -> list[int]:
        """Return the processes of `serve` with this word in their command line or name."""
        found = processes.tree(self.application.processes["web"].popen.pid)
        return [pid for pid in found if f" {word} " in processes.command(pid) + " "]

    def kill_deliverer(self, rng: random.Random) -> float:
        """Kill one: on PostgreSQL a child of the worker, or all of the worker. Return when."""
        pids = eventually(self.deliverers, 30, "something delivers")
        if self.backend == POSTGRESQL and rng.random() < 0.5:
            pids = [*processes.tree(self.application.processes["worker"].popen.pid)]
        else:
            pids = [rng.choice(pids)]
        processes.kill(*pids)
        return time.time()

    def kill_web(self, rng: random.Random) -> float:
        """Kill a web process, or on SQLite sometimes `serve` with all its children. Return when."""
        processes.kill(rng.choice(eventually(lambda: self.children("web"), 30, "the web runs")))
        return time.time()

    def kill_service(self) -> float:
        """SIGKILL to `serve` and its children. Return when."""
        pids = list(processes.tree(self.application.processes["web"].popen.pid))
        processes.kill(*pids)
        self.application.processes["web"].kill()
        return time.time()

    def start_service(self) -> Process:
        """Start `serve` again, and wait until it answers."""
        process = self.application.start_role("web")
        process.wait_until(lambda: answers(self.port, "/readyz"))
        return process

    @contextmanager
    def unsupervised(self) -> Iterator[dict[str, Process]]:
        """Do not start ended roles again meanwhile. Yield the roles."""
        # A role that ended stays in `processes`; the supervisor must not see it.
        hidden, self.application.processes = self.application.processes, {}
        try:
            yield hidden
        finally:
            self.application.processes = hidden | self.application.processes

    @contextmanager
    def deliverer(self, name: str, **settings: str) -> Iterator[Process]:
        """Run one more `manage.py deliver`, with other settings."""
        log = self.directory / "service" / f"{name}.log"
        environment = {**self.application.environment, **settings}
        process = Process(name, [sys.executable, "manage.py", "deliver"], log=log, env=environment)
        try:
            yield process
        finally:
            process.stop()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.database.query(sql)
