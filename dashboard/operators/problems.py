"""
Problems that an operator can act on, named by their cause: for the overview, and for the body of /readyz.

Whether a role lives is known by its heartbeat, not by its backlog: an idle worker has none, and a busy one may have.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from django.conf import settings
from django.core.files.storage import storages
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from config.base.times import now
from config.health import STORING, Problem
from dashboard.operators.figures import living, queue
from webhooks.enqueue import MAIL
from webhooks.models import Attempt, DelivererSlots, ErrorClass

RECENT = dt.timedelta(minutes=15)
READ = 2_000  # of the newest attempts
FEW = 3  # failures in a row that say something about the service
NO_DELIVERER = gettext_lazy(
    "No process delivers. Start a worker or `manage.py deliver`. Nothing is lost: waiting deliveries are sent then."
)
NO_BEAT = gettext_lazy("Beat does not run, so retries and the clean-up wait. Start `celery -A config beat`.")
NOT_DISPATCHED = gettext_lazy(
    "Submissions are not dispatched, although a process delivers. Its log names a submission that cannot be."
)
LATE = gettext_lazy("Deliveries are late by more than five minutes, although a process delivers.")
AT_ENDPOINTS = gettext_lazy("Deliveries wait only for endpoints that are down.")
MAILS_FAIL = gettext_lazy("Every mail fails. The most frequent reason: {reason}.")
MESSAGES_FAIL = gettext_lazy("Every message fails, to all hosts. The most frequent reason: {reason}.")
NO_FILES = gettext_lazy("The service of FILES_URL cannot be used, so files are not stored.")


def problems_of_database() -> Iterator[Problem]:
    """Yield why the database stores nothing, if it answers."""
    if reason := STORING.reason():
        yield Problem("cannot_store", reason)


def problems_of_roles() -> Iterator[Problem]:
    """Yield the role that is dead, else the backlog of living ones."""
    roles = set(living().values_list("role", flat=True))
    if not roles - {DelivererSlots.Role.BEAT}:
        yield Problem("no_deliverer", NO_DELIVERER)
        return
    if DelivererSlots.Role.DELIVER not in roles and DelivererSlots.Role.BEAT not in roles:
        yield Problem("no_beat", NO_BEAT)
        return
    waiting = queue()
    if waiting.undispatched.is_late:
        yield Problem("not_dispatched", NOT_DISPATCHED)
    if waiting.due.is_late:
        yield Problem("late", LATE)
    elif waiting.at_endpoints and waiting.due.oldest is None:
        yield Problem("endpoints_down", AT_ENDPOINTS)


def problems_of_attempts() -> Iterator[Problem]:
    """Yield the reason for which every recent mail fails, and every message to any host."""
    newest = Attempt.objects.filter(started_at__gte=now() - RECENT).order_by("-started_at")
    rows = list(newest.values_list("error", "delivery__channel", "delivery__host", "delivery_id")[:READ])
    mails = [(error, delivery) for error, channel, _, delivery in rows if channel == MAIL]
    if reason := _common_failure(mails):
        yield Problem("mails_fail", format_lazy(MAILS_FAIL, reason=reason))
    messages = [(error, host) for error, channel, host, _ in rows if channel != MAIL]
    if reason := _common_failure(messages):
        yield Problem("messages_fail", format_lazy(MESSAGES_FAIL, reason=reason))


def _common_failure(attempts: Collection[tuple[str, object]]) -> Any:
    """Return the label of the most frequent failure if all attempts failed, to several receivers; else ""."""
    receivers = {receiver for _, receiver in attempts}
    if len(attempts) < FEW or len(receivers) == 1 or not all(error for error, _ in attempts):
        return ""
    return ErrorClass(Counter(error for error, _ in attempts).most_common(1)[0][0]).label


def problems_of_files() -> Iterator[Problem]:
    """Yield that the service of FILES_URL cannot be used."""
    if not settings.FILES_URL:
        return
    files: Any = storages["files"]  # S3Files, whose packages are optional
    try:
        files.check()
    except OSError:
        yield Problem("files", NO_FILES)
