"""
Mails to an organization's owners, or to one person, about what happened in a lower room.

A notice is a row, written in the transaction of what it reports, so neither is lost without the other. Dispatch turns
it into deliveries of the mail channel (`webhooks/outbox/`).
"""

import datetime as dt

from django.db import transaction

from config.nudge import DELIVER, nudge
from config.times import now
from keys.models import Notice, Organization, User

MAX_SUBJECT = 200  # characters
KEPT = dt.timedelta(days=30)  # after dispatch; `once` holds as long


def notify_owners(organization: Organization, kind: str, *, subject: str, text: str, once: str | None = None) -> None:
    """
    Queue a mail to the organization's owners.

    `kind` names what happened, such as `key.created`. `text`: paragraphs with blank lines between them. `once`: a
    notice with the same value is stored once, such as `hour.80 <organization> 2026-01-31`.
    """
    _store(Notice(organization=organization, kind=kind, subject=_one_line(subject), text=text, once=once))


def notify_account(user: User, kind: str, *, subject: str, text: str, once: str | None = None) -> None:
    """Queue a mail to one person about their account; see `notify_owners`."""
    _store(Notice(account=user, kind=kind, subject=_one_line(subject), text=text, once=once))


def _store(notice: Notice) -> None:
    Notice.objects.bulk_create([notice], ignore_conflicts=True)
    transaction.on_commit(lambda: nudge(DELIVER))


def _one_line(subject: str) -> str:
    return " ".join(subject.split())[:MAX_SUBJECT]


def purge_notices() -> int:
    """Delete notices that were dispatched more than 30 days ago; return how many."""
    old = Notice.objects.filter(created_at__lt=now() - KEPT, dispatched_at__lt=now() - KEPT)
    return old.delete()[0]
