"""
The rights of the person of a token, read from the database: when a stream opens, whether they are logged in; then and
while it is open, which forms they see as a member.
"""

import asyncio
import uuid
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse

from keys.models import Membership, User
from keys.seen_forms import SeenForms
from submissions.live.tokens import Watch

PER_PERSON = 10  # open streams in one process
_sessions = SessionMiddleware(lambda _request: HttpResponse())  # for the configured engine
_thread = ThreadPoolExecutor(1, thread_name_prefix="live-rights")  # started by its first use


async def seen_by(watch: Watch) -> SeenForms | None:
    """
    Return the forms that the person of a token sees now; None: nothing any more.

    Raises DatabaseError while the database is unavailable.
    """
    if not watch.session_key:
        return SeenForms(watch.organization_id)
    return await asyncio.get_running_loop().run_in_executor(_thread, _seen, watch)


def _seen(watch: Watch) -> SeenForms | None:
    """Return the forms, if the session is that of the token's person, who is a member of its organization."""
    close_old_connections()  # so that one is tested which a restart may have broken long ago
    request = HttpRequest()
    request.session = _sessions.SessionStore(watch.session_key)
    person = get_user(request)  # none after logout, a changed password, or a deactivation
    if not isinstance(person, User) or person.pk != watch.user_id:
        return None
    return seen_by_members([watch]).get((person.pk, watch.organization_id))


def seen_by_members(watches: Collection[Watch]) -> dict[tuple[uuid.UUID | None, uuid.UUID], SeenForms]:
    """Return the forms that each person of these sees, by person and organization; who is no member, is missing."""
    people = {watch.user_id for watch in watches}
    rows = Membership.objects.filter(user__in=people, organization__in={watch.organization_id for watch in watches})
    return {(row.user_id, row.organization_id): SeenForms.of(row) for row in rows}


def is_over_share(watch: Watch, open_streams: "list[Watch]") -> bool:
    """Return whether the person or the organization has as many streams of this process open as they may."""
    if not watch.session_key:
        return False
    organization = sum(other.organization_id == watch.organization_id for other in open_streams)
    person = sum(other.user_id == watch.user_id for other in open_streams)
    return bool(organization >= settings.EVENTS_PER_ORGANIZATION or person >= PER_PERSON)
