"""Options of the connections to PostgreSQL: timeouts, the session's name and limits, isolation, pool."""

from typing import Any

from config.postgresql import sessions

Database = dict[str, Any]  # an entry of Django's DATABASES
LIMIT = "STATEMENT_SECONDS"  # of an entry whose transactions set the limit themselves (`config.database.snapshot`)


def with_limits(
    default: Database, snapshot: Database, *, pool_size: int, quick: float, long: float, has_pooler: bool = False
) -> tuple[Database, Database]:
    """
    Complete the options of `default` in place; return the databases for snapshots and for exports.

    `quick`, `long`: the limits of a statement in seconds, see `sessions.statement_seconds`. `pool_size` 0: no pool.
    `has_pooler`: PgBouncer in transaction mode is in between, which refuses `options` of a session.
    """
    # These need psycopg, which SQLite does not.
    from django.db.backends.postgresql.psycopg_any import IsolationLevel

    from config.postgresql.watched import WatchedConnection

    # Seconds; milliseconds until an unresponsive peer counts as gone; idle seconds before a keepalive probe.
    timeouts: dict[str, Any] = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "keepalives_idle": 30}
    timeouts["application_name"] = sessions.application_name(sessions.role())
    given = default["OPTIONS"].pop("options", "")
    seconds = sessions.statement_seconds(sessions.role(), quick, long)
    if limits := given if has_pooler else sessions.with_statement_timeout(given, seconds):
        timeouts["options"] = limits
    default["OPTIONS"] = timeouts | default["OPTIONS"]
    snapshot["OPTIONS"] = default["OPTIONS"] | {"isolation_level": IsolationLevel.REPEATABLE_READ}
    export = {**snapshot, "OPTIONS": dict(snapshot["OPTIONS"])}
    if has_pooler:
        # Outside a transaction each FETCH of a cursor could reach another session. Snapshots are transactions.
        default["DISABLE_SERVER_SIDE_CURSORS"] = True
        snapshot[LIMIT], export[LIMIT] = seconds, long
    elif limits := sessions.with_statement_timeout(given, long):
        export["OPTIONS"]["options"] = limits
    if pool_size:
        # A pool, because web servers end idle threads without closing their connections.
        # Our backend asks the pool several times, `timeout` seconds each, then 503. `reconnect_timeout` is short:
        # the pool's retries back off, so that requests would still wait although the database is available again.
        default["ENGINE"] = snapshot["ENGINE"] = "config.postgresql"
        pool: dict[str, Any] = {"max_size": pool_size, "timeout": 0.5, "reconnect_timeout": 1.5}
        pool["connection_class"] = WatchedConnection
        default["OPTIONS"] |= {"pool": {"min_size": 1, **pool}}
        snapshot["OPTIONS"] |= {"pool": {"min_size": 0, **pool}}
    return snapshot, export
