"""Child processes: each in its own group, with its output in a file, stopped by id and never by name."""

import itertools
import os
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tests.services.forks import ROOT as ROOT
from tests.services.forks import Forked, can_fork, start
from tests.services.waiting import eventually

STOP_SECONDS = 15.0  # how long a process may take to wind down before it is killed
# Below the range from which Linux takes source ports (32768-60999): no outgoing connection can take one of these.
PORTS = range(15_000, 32_000)
SHARE = 100  # of a process


class _Ports:
    """
    A hundred of PORTS that no other process of tests on this machine gives away, one after the other.

    Between the choice of a port and the start of its server are seconds, in which another suite would take it too. The
    name of an abstract socket is this process's until it ends.
    """

    def __init__(self) -> None:
        shares = [PORTS[start : start + SHARE] for start in range(0, len(PORTS), SHARE)]
        self._claim, share = next(filter(None, map(_claimed, random.sample(shares, len(shares)))))
        self._ports = itertools.cycle(share)
        self._lock = threading.Lock()

    def free(self) -> int:
        while True:
            with self._lock:
                port = next(self._ports)
            with socket.socket() as probe, suppress(OSError):
                probe.bind(("127.0.0.1", port))
                return port


def _claimed(share: range) -> tuple[socket.socket, range] | None:
    """Return the share with its claim, or None if it is another process's."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0fieldpost-tests-{share.start}")
    except OSError:
        claim.close()
        return None
    return claim, share


@cache
def _ports_of(_process: int) -> _Ports:
    return _Ports()


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 on which nothing listens now, and which no other test is given meanwhile."""
    return _ports_of(os.getpid()).free()


class Process:
    """A running program with its group. `log` holds what it printed, both streams in order."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path | None,
        env: Mapping[str, str] | None = None,
        cwd: Path = ROOT,
        user: str | None = None,
        forks: bool = False,
    ) -> None:
        """
        Start `command`, as `user` if given (that needs root). Without `log` it prints where we print. With `forks`
        it may be a fork (`tests/services/forks.py`): for a command line of this Python in ROOT, with a log.
        """
        self.name = name
        self.log = log
        self._shown = 0
        self._ended = False
        self.popen: subprocess.Popen[bytes] | Forked
        if forks and log and env is not None and can_fork(env):
            log.touch()  # for `tail`
            self.popen = start(command[1:], env, log)
            return
        output = log.open("ab") if log else None
        try:
            self.popen = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                env=dict(env) if env is not None else None,
                cwd=cwd,
                start_new_session=True,  # Ctrl-C reaches only us, and we stop things in their order
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        finally:
            if output:
                output.close()

    @property
    def running(self) -> bool:
        return self.popen.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the first process only; it passes it on to its children."""
        self.popen.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM, patience: float = STOP_SECONDS) -> None:
        """Send `number`, wait, then kill the rest of the group."""
        if self.running:
            self.send(number)
            with suppress(subprocess.TimeoutExpired):
                self.popen.wait(patience)
        self.kill()

    def kill(self) -> None:
        """Kill the whole group, once: later the id may belong to another process."""
        if not self._ended:
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.kill()  # a fork that leads no group yet
            self._ended = True
        self.popen.wait()

    def printed(self) -> str:
        """Return what was printed since `forget`."""
        return self.log.read_bytes()[self._shown :].decode(errors="replace") if self.log else ""

    def tail(self, lines: int = 40) -> str:
        """Return the last lines printed since `forget`. What one waits for may have left them: see `printed`."""
        return "\n".join(self.printed().splitlines()[-lines:])

    def forget(self) -> None:
        """Leave the output so far out of `tail`: it belongs to a test that is over."""
        self._shown = self.log.stat().st_size if self.log else 0

    def wait_until(self, ready: Callable[[], object], timeout: float = 60.0) -> None:
        """Poll `ready`; a process that ends meanwhile raises RuntimeError with the end of its log."""

        def probe() -> bool:
            if not self.running:
                raise RuntimeError(f"{self.name} ended with status {self.popen.returncode}:\n{self.tail()}")
            return bool(ready())

        try:
            eventually(probe, timeout, f"{self.name} is ready")
        except AssertionError as error:
            raise RuntimeError(f"{error}\n{self.tail()}") from None


def listens(place: int | Path) -> bool:
    """Return whether a port of 127.0.0.1, or a Unix socket, takes connections."""
    is_path = isinstance(place, Path)
    with socket.socket(socket.AF_UNIX if is_path else socket.AF_INET) as probe:
        probe.settimeout(1)
        return probe.connect_ex(str(place) if is_path else ("127.0.0.1", place)) == 0
