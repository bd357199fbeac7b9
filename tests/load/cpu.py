"""Processor time of processes and their descendants, from /proc (Linux)."""

import os
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


def tree_seconds(pid: int) -> float:
    """Return user and system time of a process, its living descendants, and those that ended and were waited for."""
    stats = _all_stats()
    return sum(int(ticks) for one in _members(pid, stats) for ticks in stats[one][11:15]) * _TICK


def tree_of(pid: int) -> list[int]:
    """Return the ids of a process and its living descendants."""
    return _members(pid, _all_stats())


def _members(pid: int, stats: dict[int, list[str]]) -> list[int]:
    found = [pid] if pid in stats else []
    for parent in found:  # grows meanwhile
        found += [child for child, fields in stats.items() if int(fields[1]) == parent]
    return found


def _all_stats() -> dict[int, list[str]]:
    """Return the fields of each /proc/PID/stat behind the program's name: state, parent, …; see proc(5)."""
    stats = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            stats[int(directory.name)] = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
    return stats
