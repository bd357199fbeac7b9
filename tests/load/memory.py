"""Memory of processes and their descendants, from /proc (Linux)."""

from contextlib import suppress
from pathlib import Path

from tests.faults import processes
from tests.load.cpu import tree_of

MIB = 2**20


def tree_bytes(pid: int) -> int:
    """Return the proportional set size of a process and its descendants: a shared page counts for each one's part."""
    return sum(proportional_bytes(member) for member in tree_of(pid))


def proportional_bytes(pid: int) -> int:
    """Return the proportional set size of a process, 0 if it has ended."""
    with suppress(OSError):  # it ended meanwhile
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


def have_all_exported(serve: int) -> bool:
    """Return whether every web process of `serve` has the fork server that its first export starts."""
    web = [pid for pid in tree_of(serve) if "web" in processes.command(pid).split()]
    assert web, "`serve` has web processes"
    return all(any("forkserver" in processes.command(child) for child in processes.children(pid)) for pid in web)
