"""Django's backend while the settings name no database: it opens none, and makes no file."""

from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import CommandError
from django.db.backends.sqlite3 import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that ends its command with the hint of the check: `migrate` opens it before checks are read."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> NoReturn:  # noqa: ARG002  # Django's signature
        from config.checks import check_database_url  # reads settings, which name this module

        _ = settings.SECRET_KEY  # Django's own error, if that is lost too: the order of its checks is by chance
        raise CommandError("\n".join(str(problem) for problem in check_database_url()))
