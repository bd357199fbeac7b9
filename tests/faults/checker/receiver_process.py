"""Starting the receivers, setting their behavior, and reading their log."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from tests.faults.checker.receivers import HOST, TRAP_HOST
from tests.services.processes import ROOT


@dataclass
class Arrival:
    """A request at a receiver, and the end of its answer, if it came."""

    number: int
    path: str
    id: str  # webhook-id
    timestamp: str
    sha256: str
    valid: list[bool]  # by each known secret of its path
    in_flight: int  # requests to this path at the same time, itself included
    arrived: float  # epoch seconds
    answered: float | None = None
    cut: bool = False  # the sender closed first

    def was_in_flight(self, start: float, end: float) -> bool:
        """Return whether it was open at any moment of the interval."""
        return self.arrived <= end and (self.answered is None or self.answered >= start)


@dataclass
class Log:
    """All that the receivers have seen."""

    arrivals: list[Arrival] = field(default_factory=list)
    trapped: int = 0  # connections to the address that nothing may reach

    def of(self, prefix: str) -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.path.startswith(prefix)]

    def by_message_and_path(self, prefix: str) -> dict[tuple[str, str], list[Arrival]]:
        """Return the arrivals of each message at each path, in their order."""
        found: dict[tuple[str, str], list[Arrival]] = defaultdict(list)
        for arrival in self.of(prefix):
            found[arrival.id, arrival.path].append(arrival)
        return dict(found)


class ReceiverProcess:
    """The running receivers."""

    def __init__(self, log: Path) -> None:
        self._path = log
        self._log = Log()
        self._by_number: dict[int, Arrival] = {}
        self._read: IO[str] | None = None
        self._rest = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.checker.receivers", str(self._path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.port, self.trap_port = map(int, self._answer().split())
        self._read = self._path.open()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()  # closes its standard input, at which it ends
        if self._read:
            self._read.close()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def _order(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        assert self._answer() == "ok\n", "the receivers have ended"

    def behave(self, prefix: str, kind: str = "ok", **options: Any) -> None:
        """Let paths with this prefix be `ok` (`seconds`, `status`, `location`), `silent`, `drip` or `huge`."""
        self._order(prefix=prefix, kind=kind, **options)

    def verify_with(self, secrets: Mapping[str, list[str]]) -> None:
        """Verify the messages of these paths with these secrets."""
        self._order(secrets=secrets)

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self.port}{path}"

    def trap_url(self, path: str) -> str:
        """Return a URL of the trap, which listens on an address that webhooks may not reach."""
        return f"http://{TRAP_HOST}:{self.trap_port}{path}"

    def log(self) -> Log:
        """Return the log so far. It grows with later calls."""
        assert self._read is not None
        *lines, self._rest = (self._rest + self._read.read()).split("\n")
        for line in lines:
            self._take(json.loads(line))
        return self._log

    def _take(self, entry: dict[str, Any]) -> None:
        if "trap" in entry:
            self._log.trapped += 1
        elif "answered" in entry:
            arrival = self._by_number[entry["n"]]
            arrival.answered, arrival.cut = entry["answered"], entry["cut"]
        else:
            arrival = Arrival(number=entry.pop("n"), **entry)
            self._by_number[arrival.number] = arrival
            self._log.arrivals.append(arrival)
