"""The connections to PostgreSQL by the role of this process: their name, their timeouts, the limit of a statement."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Database = dict[str, Any]  # an entry of Django's DATABASES
ROLE_VARIABLE = "FIELDPOST_ROLE"  # set by config.wsgi; other processes are known by their command
QUICK = ("web", "events")  # someone waits for their answers
LIMIT = "STATEMENT_SECONDS"  # of an entry whose transactions set the limit themselves (`config.base.database.snapshot`)


def role(command: Sequence[str] = tuple(sys.argv)) -> str:
    """Return `web`, `events`, `worker`, `beat` or the name of the `manage.py` command."""
    if named := os.environ.get(ROLE_VARIABLE):
        return named
    program, words = (Path(command[0]), list(command[1:])) if command else (Path(), [])
    if program.name == "celery" or program.parent.name == "celery":
        return next((word for word in words if word in ("worker", "beat")), "celery")
    is_ours = program.name == "manage.py" and words and not words[0].startswith("-")
    return words[0] if is_ours else program.stem or "python"


def with_statement_timeout(options: str, seconds: float) -> str:
    """Return libpq's `options` with the timeout in front, so that the operator's own one wins. 0 seconds: no limit."""
    ours = f"-c statement_timeout={round(seconds * 1000)}" if seconds else ""
    return f"{ours} {options}".strip()


def with_limits(
    default: Database, snapshot: Database, *, quick: float, long: float, has_pooler: bool
) -> tuple[Database, Database]:
    """
    Complete the options of `default` in place; return the databases for snapshots and for exports.

    `quick`, `long`: the limit of a statement in seconds, for roles of QUICK and for all others. `has_pooler`: PgBouncer
    in transaction mode is in between, which refuses `options` of a session.
    """
    from django.db.backends.postgresql.psycopg_any import IsolationLevel  # needs psycopg, which SQLite does not

    # Seconds; milliseconds until an unresponsive peer counts as gone; idle seconds before a keepalive probe.
    timeouts: dict[str, Any] = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}
    timeouts["application_name"] = f"fieldpost-{role()}"[:63]  # bytes that pg_stat_activity shows
    given = default["OPTIONS"].pop("options", "")
    seconds = quick if role() in QUICK else long
    if limits := given if has_pooler else with_statement_timeout(given, seconds):
        timeouts["options"] = limits
    default["OPTIONS"] = timeouts | default["OPTIONS"]
    # Each thread keeps its connections. One that a restart broke is found before the next request uses it.
    default |= {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    snapshot |= {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    snapshot["OPTIONS"] = default["OPTIONS"] | {"isolation_level": IsolationLevel.REPEATABLE_READ}
    export = {**snapshot, "OPTIONS": dict(snapshot["OPTIONS"])}
    if has_pooler:
        # Outside a transaction each FETCH of a cursor could reach another session. Snapshots are transactions.
        default["DISABLE_SERVER_SIDE_CURSORS"] = True
        snapshot[LIMIT], export[LIMIT] = seconds, long
    elif limits := with_statement_timeout(given, long):
        export["OPTIONS"]["options"] = limits
    return snapshot, export
