"""A throw-away Redis on a free port of 127.0.0.1. It keeps nothing: messages and counters are disposable."""

import signal
import tempfile
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import redis

from tests.services.processes import Process, free_port


class RedisServer:
    """Stopped and started again it comes back empty, on the same port."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = free_port()
        self.url = f"redis://{host}:{self.port}/0"
        self._directory = tempfile.TemporaryDirectory(prefix="fieldpost-redis-", ignore_cleanup_errors=True)
        self.directory = Path(self._directory.name)
        self.process: Process | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def start(self) -> None:
        command = ["redis-server", "--bind", self.host, "--port", str(self.port), "--dir", str(self.directory)]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--protected-mode", "no"]
        self.process = Process("Redis", command, log=self.directory / "log", cwd=self.directory)
        self.process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_connect_timeout=2, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.stop(number)
            self.process = None

    def remove(self) -> None:
        self.stop()
        self._directory.cleanup()


def numbered(server_url: str, number: int) -> str:
    """Return the same server's database `number` (0-15): suites that run side by side do not meet."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{number}"))
