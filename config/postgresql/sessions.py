"""Settings of a PostgreSQL session: which role it belongs to, and how long a statement may take."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

ROLE_VARIABLE = "FIELDPOST_ROLE"  # set by config.wsgi; other processes are known by their command
QUICK = ("web", "events")  # someone waits for their answers
WEB_POOL_SIZE = 12  # DATABASE_POOL_SIZE of a web process by default: a connection for each thread that runs Django


def role(command: Sequence[str] = tuple(sys.argv)) -> str:
    """Return `web`, `events`, `worker`, `beat` or the name of the `manage.py` command."""
    if named := os.environ.get(ROLE_VARIABLE):
        return named
    program, words = (Path(command[0]), list(command[1:])) if command else (Path(), [])
    if program.name == "celery" or program.parent.name == "celery":
        return next((word for word in words if word in ("worker", "beat")), "celery")
    is_ours = program.name == "manage.py" and words and not words[0].startswith("-")
    return words[0] if is_ours else program.stem or "python"


def application_name(of: str) -> str:
    """Return the name in `pg_stat_activity`, at most 63 bytes."""
    return f"fieldpost-{of}"[:63]


def statement_seconds(of: str, quick: float, long: float) -> float:
    """Return the limit of a role: `quick` where someone waits for the answer, else `long`. 0 is none."""
    return quick if of in QUICK else long


def with_statement_timeout(options: str, seconds: float) -> str:
    """Return libpq's `options` with the timeout in front, so that the operator's own one wins."""
    ours = f"-c statement_timeout={round(seconds * 1000)}" if seconds else ""
    return f"{ours} {options}".strip()
