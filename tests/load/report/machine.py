"""The conditions of a run: machine, versions, durability, commit. Never a host's name."""

import datetime as dt
import os
import platform
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import django

from tests.services.packages import program
from tests.services.processes import ROOT

OURS = (":!docs/benchmarks.md", ":!docs/benchmarks.json")  # a run writes them, and is not changed by them


def describe_run(*, rounds: int, seconds: float, deliveries: int) -> dict[str, Any]:
    """Return the conditions that hold for every row of a run. Durability is added where it is checked."""
    return {
        "date": f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%MZ}",
        "commit": commit(),
        "rounds": rounds,
        "seconds": seconds,
        "deliveries": deliveries,
        "cpu": _field(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memory_gib": round(int(_field(Path("/proc/meminfo"), "MemTotal").split()[0]) / 2**20, 1),
        "load_before": round(os.getloadavg()[0], 1),
        "versions": {
            "PostgreSQL": _version(program("postgres"), "--version"),
            "Redis": _version("redis-server", "--version"),
            "SQLite": sqlite3.sqlite_version,
            "Python": platform.python_version(),
            "Django": django.get_version(),
        },
    }


def commit() -> str:
    """Return the commit that is measured, with a `+` if files differ from it."""
    try:
        name = _git("rev-parse", "--short", "HEAD")
        return name + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".", *OURS) else "")
    except (OSError, subprocess.CalledProcessError):  # not a checkout
        return "unknown"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _version(command: Path | str, option: str) -> str:
    """Return the first word of a program's answer that is a version: of `v=7.0.15` the part behind the sign."""
    answer = subprocess.run([command, option], capture_output=True, text=True).stdout
    words = (word.removeprefix("v=") for word in answer.split())
    return next((word for word in words if word[:1].isdigit()), "unknown")


def _field(path: Path, name: str) -> str:
    lines = path.read_text().splitlines() if path.exists() else []
    values = (line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name)
    return next(values, "0")
