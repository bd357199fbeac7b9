"""Whether the person of a token is still logged in and a member, read from the database when a stream opens."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse

from keys.models import Membership, User
from submissions.live.tokens import Watch

PER_PERSON = 10  # open streams in one process
_sessions = SessionMiddleware(lambda _request: HttpResponse())  # for the configured engine
_thread = ThreadPoolExecutor(1, thread_name_prefix="live-rights")  # started by its first use


async def still_may_watch(watch: Watch) -> bool:
    """Return whether a token's rights still hold. Raises DatabaseError while the database is unavailable."""
    if not watch.session_key:
        return True
    return await asyncio.get_running_loop().run_in_executor(_thread, _holds, watch)


def _holds(watch: Watch) -> bool:
    """Return whether the session is that of the token's person, who is a member of its organization."""
    close_old_connections()  # so that one is tested which a restart may have broken long ago
    request = HttpRequest()
    request.session = _sessions.SessionStore(watch.session_key)
    person = get_user(request)  # none after logout, a changed password, or a deactivation
    if not isinstance(person, User) or person.pk != watch.user_id:
        return False
    return Membership.objects.filter(user=person, organization=watch.organization_id).exists()


def is_over_share(watch: Watch, open_streams: "list[Watch]") -> bool:
    """Return whether the person or the organization has as many streams of this process open as they may."""
    if not watch.session_key:
        return False
    organization = sum(other.organization_id == watch.organization_id for other in open_streams)
    person = sum(other.user_id == watch.user_id for other in open_streams)
    return bool(organization >= settings.EVENTS_PER_ORGANIZATION or person >= PER_PERSON)
