"""
Sessions in the database that end: after 30 idle days, 90 days after the login, and an hour for strangers; one that an
OpenID issuer began after OIDC_SESSION_HOURS.

https://docs.djangoproject.com/en/5.2/topics/http/sessions/#extending-database-backed-session-engines
"""

import datetime as dt
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db

from config.base.times import now
from keys.issuer_sessions import issuer_of

LOGGED_IN_AT = "logged_in_at"  # session key; holds the Unix time of the login, in seconds
LONGEST = dt.timedelta(days=90)  # from the login on; SESSION_COOKIE_AGE is the idle time
ANONYMOUS = dt.timedelta(hours=1)  # for a sign-up, a new password or a second step; codes last 15 minutes at most


class SessionStore(db.SessionStore):
    """A row of an anonymous visitor lasts an hour after its last change, so strangers cannot fill the table."""

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row to store. Its last moment ends the session whatever the cookie says."""
        row = super().create_model_instance(data)
        row.expire_date = min(row.expire_date, _last_moment(data))
        return row


def _last_moment(data: dict[str, Any]) -> dt.datetime:
    if SESSION_KEY not in data:
        return now() + ANONYMOUS
    logged_in_at = data.get(LOGGED_IN_AT)
    begun = now() if logged_in_at is None else dt.datetime.fromtimestamp(logged_in_at, dt.UTC)
    return begun + (min(LONGEST, dt.timedelta(hours=settings.OIDC_SESSION_HOURS)) if issuer_of(data) else LONGEST)
