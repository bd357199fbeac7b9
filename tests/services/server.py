"""The common part of servers of tests: a temporary directory, a process, its start and its end."""

import shutil
import signal
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from tests.services.processes import Process


class Server(ABC):
    """A program that keeps its files in `directory`. Stopped and started again it comes back in the same places."""

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """`name` is a part of the directory's; `parent`: where it is made, by default among temporary files."""
        self.directory = Path(tempfile.mkdtemp(prefix=f"fieldpost-{name}-", dir=parent))
        self.process: Process | None = None

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

    def prepare(self) -> None:  # noqa: B027 - some need nothing
        """Write what the program needs before its first start."""

    @abstractmethod
    def start(self) -> None:
        """Start the program, and wait until it answers."""

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the program with this signal, if it runs."""
        if self.process:
            self.process.stop(number)
            self.process = None

    def remove(self) -> None:
        """Stop the program, and delete its files."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
