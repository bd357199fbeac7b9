"""A throw-away Redis on a free port of 127.0.0.1. It keeps nothing: messages and counters are disposable."""

from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import redis

from tests.services.packages import program
from tests.services.processes import Process, free_port
from tests.services.server import Server


class RedisServer(Server):
    """Stopped and started again it comes back empty, on the same port."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__("redis")
        self.host = host
        self.port = free_port()
        self.url = f"redis://{host}:{self.port}/0"

    def start(self) -> None:
        command: list[str | Path] = [program("redis-server"), "--bind", self.host, "--port", str(self.port)]
        command += [
            "--dir",
            self.directory,
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
            "--protected-mode",
            "no",
        ]
        self.process = Process("Redis", command, log=self.directory / "log", cwd=self.directory)
        self.process.wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_connect_timeout=2, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False


def numbered(server_url: str, number: int) -> str:
    """Return the same server's database `number` (0-15): suites that run side by side do not meet."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{number}"))
