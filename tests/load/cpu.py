"""Processor time of processes and their descendants, from /proc (Linux)."""

import os
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


def tree_seconds(pid: int) -> float:
    """Return user and system time of a process, its living descendants, and those that ended and were waited for."""
    stats = _all_stats()
    todo, total = [pid], 0.0
    while todo:
        parent = todo.pop()
        todo += [child for child, fields in stats.items() if int(fields[1]) == parent]
        total += sum(int(ticks) for ticks in stats[parent][11:15]) * _TICK if parent in stats else 0
    return total


def _all_stats() -> dict[int, list[str]]:
    """Return the fields of each /proc/PID/stat behind the program's name: state, parent, …; see proc(5)."""
    stats = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            stats[int(directory.name)] = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
    return stats
