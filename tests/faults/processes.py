"""Processes by /proc: descendants, command lines, memory."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ZOMBIE = "Z"


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the program's name: state, parent, …; none if it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def is_alive(pid: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and fields[0] != ZOMBIE


def children(pid: int) -> list[int]:
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return sorted(child for child in pids if (fields := _fields(child)) and int(fields[1]) == pid and is_alive(child))


def tree(pid: int) -> Iterator[int]:
    """Yield a process and its living descendants."""
    yield pid
    for child in children(pid):
        yield from tree(child)


def command(pid: int) -> str:
    """Return the command line of a process and its name, which of a fork is its own."""
    with suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return f"{line.strip()} {Path(f'/proc/{pid}/comm').read_text().strip()}"
    return ""


def job_server(web: int) -> int | None:
    """Return the process that forks the exports of a web process or of gunicorn's only one, if it has been started."""
    found = {pid: command(pid) for pid in tree(web)}
    # A web process of tests has the same command line, and its own name.
    named = (pid for pid, line in found.items() if "forkserver" in line and line.split()[-1].startswith("python"))
    return next(named, None)


def jobs(web: int) -> list[int]:
    """Return the exports of a web process."""
    server = job_server(web)
    return children(server) if server else []


def memory(pid: int) -> int:
    """Return the resident bytes of a process and its descendants."""
    total = 0
    for one in tree(pid):
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def kill(*pids: int, number: signal.Signals = signal.SIGKILL) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
