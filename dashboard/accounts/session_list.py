"""The list of an account's sessions: kept up to date by a middleware, cleaned up hourly."""

import datetime as dt
import hashlib
import time
from collections.abc import Callable

from allauth.account.adapter import get_adapter
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase

from config.base.times import now
from dashboard.accounts.session_store import LOGGED_IN_AT, SessionStore

SEEN_EVERY = 600  # seconds between two writes of "last seen"
RENEWED_AT = "renewed_at"  # session key; Unix time in seconds
RENEWED_EVERY = 86_400  # seconds between two renewals of the idle time, in the row and in the cookie


class SessionWatch:
    """
    Notes when a session was last used, renews its idle time, and deletes sessions of closed accounts.

    It acts only on answers that used the session, so requests of the API and of visitors cost nothing.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        session = request.session
        if session.accessed and session.session_key:
            if request.user.is_authenticated:
                _note_use(request)
            elif SESSION_KEY in session:  # the account was closed: reopening it must not revive the session
                session.flush()
        return response


def _note_use(request: HttpRequest) -> None:
    session, moment = request.session, time.time()
    if moment - session.get(RENEWED_AT, 0) > RENEWED_EVERY:
        session[RENEWED_AT] = moment
        # A session of an earlier release: its 90 days start now, and it is not a fresh login.
        session.setdefault(LOGGED_IN_AT, moment - settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)
    name = hashlib.sha256(str(session.session_key).encode()).hexdigest()[:32]  # the key itself is a password
    if cache.add(f"session-seen:{name}", 1, timeout=SEEN_EVERY):
        rows = UserSession.objects.filter(session_key=session.session_key)
        seen = {"last_seen_at": now(), "ip": get_adapter().get_client_ip(request)}
        if not rows.update(**seen):
            UserSession.objects.create_from_request(request)


def purge_sessions() -> None:
    """Delete ended sessions, and their entries in the lists."""
    SessionStore.clear_expired()
    old = UserSession.objects.filter(created_at__lt=now() - dt.timedelta(hours=1))
    old.exclude(session_key__in=Session.objects.values("session_key")).delete()
