"""Around a pooler in transaction mode, such as PgBouncer (docs/adr/0102)."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections


@contextmanager
def without_pooler(alias: str) -> Iterator[None]:
    """
    Lead an alias to DATABASE_DIRECT_URL, if that is set and the alias is the default one.

    For statements that depend on settings of their session: behind a pooler the next statement can reach another
    session, and the settings would stay for others.
    """
    if alias != DEFAULT_DB_ALIAS or not settings.DATABASE_DIRECT_URL:
        yield
        return
    before = connections.settings[alias]
    _replace(alias, connections.settings[settings.DIRECT])
    try:
        yield
    finally:
        _replace(alias, before)


def _replace(alias: str, database: dict[str, object]) -> None:
    connections[alias].close()
    del connections[alias]
    connections.settings[alias] = database
