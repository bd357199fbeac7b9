"""
From notices to mails: a notice of a lower room becomes a delivery for each of its receivers. Mails to submitters are an
outbox of the same kind.

As with submissions, one transaction creates the deliveries and sets the mark, so a crash leaves either all of it or
none. The receivers are those of now: an owner who has left since gets no mail.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext

from config.base.times import now
from keys.models import Membership, Notice, Role, User
from keys.notices import mail_language
from webhooks.enqueue import MAIL, Target
from webhooks.events import NOTICE
from webhooks.mails.submitters import decide_some, undecided_mails
from webhooks.models import Delivery, Message
from webhooks.outbox.batches import Batches
from webhooks.payloads import Notice as Mail

ROWS_A_BATCH = 100
GATHERED = frozenset({"webhook.created", "key.created"})  # kinds that one user causes many of in a row
GATHERED_FOR = dt.timedelta(minutes=10)  # after a mail, for which further ones wait
SEPARATOR = "\n\n---\n\n"  # between the texts of one mail


def _waiting() -> QuerySet[Notice]:
    """Return the notices to dispatch now. Further ones of a kind that comes in bulk wait, and become one mail."""
    since = now() - GATHERED_FOR
    same = Notice.objects.filter(organization=OuterRef("organization"), kind=OuterRef("kind"), dispatched_at__gt=since)
    recent = same.filter(created_at__gt=since - GATHERED_FOR)  # by its index
    return Notice.objects.filter(dispatched_at=None).exclude(Exists(recent), kind__in=GATHERED)


def _dispatch_some(waiting: QuerySet[Notice]) -> int:
    with transaction.atomic():
        locked = waiting.select_related("account").select_for_update(skip_locked=True, no_key=True, of=("self",))
        rows = list(locked[:ROWS_A_BATCH])
        owners = _owners([row for row in rows if row.organization_id is not None])
        for same in _gathered(rows):
            first = same[0]
            receivers = owners[first.organization_id] if first.organization_id is not None else _account(first)
            _queue(same, receivers)
        Notice.objects.filter(pk__in=[row.pk for row in rows], dispatched_at=None).update(dispatched_at=Now())
        return len(rows)


def _owners(rows: Sequence[Notice]) -> dict[object, list[User]]:
    owners: dict[object, list[User]] = defaultdict(list)
    ids = {row.organization_id for row in rows}
    found = Membership.objects.filter(organization__in=ids, role=Role.OWNER, user__is_active=True)
    for membership in found.select_related("user").order_by("user__email"):
        owners[membership.organization_id].append(membership.user)
    return owners


def _account(row: Notice) -> list[User]:
    return [row.account] if row.account is not None and row.account.is_active else []


def _gathered(rows: Sequence[Notice]) -> Iterable[list[Notice]]:
    mails: dict[object, list[Notice]] = defaultdict(list)
    for row in rows:
        mails[(row.organization_id, row.kind) if row.kind in GATHERED else row.pk].append(row)
    return mails.values()


def _queue(rows: Sequence[Notice], receivers: Sequence[User]) -> None:
    if not receivers:
        return
    row, language = rows[0], mail_language(receivers)
    subject = row.subject
    if more := len(rows) - 1:
        with translation.override(language):
            subject = gettext("%(subject)s, and %(count)s more") % {"subject": row.subject[:100], "count": more}
    mail = Mail(subject, SEPARATOR.join(one.text for one in rows), language)
    message = Message.objects.create(event=NOTICE.name, body=NOTICE.write(mail))
    deliveries = []
    for user in receivers:
        key = f"notice:{row.pk}:{user.pk}"
        delivery = Target(MAIL, user.email).delivery(message, row.organization_id, key=key, priority=NOTICE.priority)
        delivery.account = user  # a mail that waits for a retry ends with the account
        deliveries.append(delivery)
    Delivery.objects.bulk_create(deliveries)


# Each queues the mails of some of its oldest rows, and returns how many rows.
dispatch_notices = Batches("notice", waiting=_waiting, dispatch=_dispatch_some).run_one
queue_submitter_mails = Batches("mail to a submitter", waiting=undecided_mails, dispatch=decide_some).run_one
