"""The command `fieldpost` as its users run it: with a folder, a key, and an output that is no terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.services.application import Application
from tests.services.processes import ROOT

SOURCE = ROOT / "clients" / "python" / "src"
SECONDS = 120.0


@dataclass(frozen=True)
class Ran:
    status: int
    out: bytes
    err: bytes

    def json(self) -> Any:
        """Return the one document of standard output."""
        assert self.status != 1, self.err.decode()
        return json.loads(self.out)

    def error(self) -> tuple[int, str]:
        """Return the status and the code of the last line of standard error; standard output must be empty."""
        assert self.out == b"", self.out
        last = json.loads(self.err.splitlines()[-1])
        assert last.keys() == {"error"}
        assert last["error"].keys() == {"code", "message"}
        return self.status, last["error"]["code"]

    @property
    def message(self) -> str:
        return str(json.loads(self.err.splitlines()[-1])["error"]["message"])


@dataclass(frozen=True)
class Command:
    """`run("forms", "list")` in `folder`, with `url` and `key` in the environment where they are set."""

    folder: Path
    url: str = ""
    key: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self, **variables: str) -> dict[str, str]:
        named = {"FIELDPOST_URL": self.url, "FIELDPOST_KEY": self.key, **self.variables, **variables}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(SOURCE),
            **{name: value for name, value in named.items() if value},
        }

    @contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start what waits, such as for a person or for news, and end it after the block."""
        running = subprocess.Popen(
            [sys.executable, "-m", "fieldpost", *arguments],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            yield running
        finally:
            running.kill()
            running.communicate()

    def run(self, *arguments: str, **variables: str) -> Ran:
        command = [sys.executable, "-m", "fieldpost", *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def next_line(started: subprocess.Popen[bytes]) -> Any:
    """Wait for the next object of the output."""
    assert started.stdout is not None
    return json.loads(started.stdout.readline())


def command_of(service: Application, key: str, folder: Path) -> Command:
    return Command(folder, service.base_url, key)
