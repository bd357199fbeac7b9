"""Memory of processes and their descendants, from /proc (Linux)."""

from contextlib import suppress
from pathlib import Path

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
