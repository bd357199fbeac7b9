"""
Mails to an organization's owners, or to one person, about what happened in a lower room.

A notice is a row, written in the transaction of what it reports, so neither is lost without the other. Dispatch turns
it into deliveries of the mail channel (`webhooks/outbox/`).

A notice has one text. It is in the language that all its receivers read, else in English.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.utils import translation

from config.base.nudge import DELIVER, nudge
from config.base.times import now
from keys.models import Notice, Organization, Role, User

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_SUBJECT = 200  # characters
ENGLISH = "en"
KEPT = dt.timedelta(days=30)  # after dispatch; `once` holds as long


def mail_language(users: Iterable[User]) -> str:
    """Return the language of a mail to these people: the one that all of them chose, else English."""
    chosen = {user.language if user.language in dict(settings.LANGUAGES) else ENGLISH for user in users}
    return chosen.pop() if len(chosen) == 1 else ENGLISH


def languages_of(addresses: Iterable[str]) -> dict[str, str]:
    """Return the language of each account with one of these addresses, by address in lower case, if it has chosen."""
    accounts = User.objects.filter(email__in={address.lower() for address in addresses}, is_active=True)
    return dict(accounts.filter(language__in=dict(settings.LANGUAGES)).values_list("email", "language"))


def notify_owners(
    organization: Organization,
    kind: str,
    *,
    subject: "StrOrPromise",
    text: "StrOrPromise",
    values: Mapping[str, object] | None = None,
    once: str | None = None,
) -> None:
    """
    Queue a mail to the organization's owners.

    `kind` names what happened, such as `key.created`. `text`: paragraphs with blank lines between them. `values`: for
    the places in both. `once`: a notice with the same value is stored once, such as `hour.80 <organization>
    2026-01-31`. Lazy texts and values are written in the language of the mail.
    """
    owning = {"memberships__organization": organization, "memberships__role": Role.OWNER}
    language = mail_language(User.objects.filter(is_active=True, **owning).only("language"))
    with translation.override(language):
        _queue(subject, text, values, organization=organization, kind=kind, once=once)


def notify_account(
    user: User,
    kind: str,
    *,
    subject: "StrOrPromise",
    text: "StrOrPromise",
    values: Mapping[str, object] | None = None,
    once: str | None = None,
) -> None:
    """Queue a mail to one person about their account; see `notify_owners`."""
    with translation.override(mail_language([user])):
        _queue(subject, text, values, account=user, kind=kind, once=once)


def _queue(subject: "StrOrPromise", text: "StrOrPromise", values: Mapping[str, object] | None, **columns: Any) -> None:
    head, body = (str(each) if values is None else str(each) % values for each in (subject, text))
    notice = Notice(subject=" ".join(head.split())[:MAX_SUBJECT], text=body, **columns)
    Notice.objects.bulk_create([notice], ignore_conflicts=True)
    transaction.on_commit(lambda: nudge(DELIVER))


def purge_notices() -> int:
    """Delete notices that were dispatched more than 30 days ago; return how many."""
    old = Notice.objects.filter(created_at__lt=now() - KEPT, dispatched_at__lt=now() - KEPT)
    return old.delete()[0]
