"""
From submissions to deliveries: who must be told about what was received.

A row without `dispatched_at` is owed its consequences. One short transaction makes its deliveries, moves the tallies
and sets the mark, so a crash leaves either all of it or none. No network call happens here.
"""

import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from config.database import is_away
from forms_app.models import Form
from submissions.models import Submission
from submissions.tally import apply_moves, key_of, new_moves
from webhooks.models import Delivery, Webhook
from webhooks.page_named import NamedWebhooks
from webhooks.payloads import message_id, submission_message

ROWS_A_BATCH = 200
POISON_SECONDS = 600
KEPT, SPAM = Submission.CountedAs.KEPT, Submission.CountedAs.SPAM

logger = logging.getLogger(__name__)


def dispatch_batch() -> int:
    """
    Dispatch some of the oldest rows and return how many.

    When one of them cannot be dispatched, the others go one by one. It stays owed, is logged, and is left alone by
    this process for a while, so that it does not hold up what came after it.
    """
    waiting = Submission.objects.undispatched().exclude(pk__in=_poison.now()).order_by("id")
    if not waiting.exists():  # most looks find nothing, and on SQLite a transaction here would lock out the writers
        return 0
    try:
        return _dispatch_some(waiting)
    except Exception as error:
        if is_away(error):
            raise
        logger.exception("dispatching a batch failed; going on one by one")
        return sum(_dispatch_one(pk) for pk in list(waiting.values_list("pk", flat=True)[:ROWS_A_BATCH]))


def _dispatch_one(pk: uuid.UUID) -> int:
    try:
        return _dispatch_some(Submission.objects.undispatched().filter(pk=pk))
    except Exception as error:
        if is_away(error):
            raise
        logger.exception("submission %s cannot be dispatched, trying again in %s s", pk, POISON_SECONDS)
        _poison.add(pk)
        return 0


def _dispatch_some(waiting: QuerySet[Submission]) -> int:
    with transaction.atomic():
        rows = list(waiting.defer("search_text").select_for_update(skip_locked=True, no_key=True)[:ROWS_A_BATCH])
        _dispatch(rows)
        return len(rows)


class _Poison:
    """Rows that failed lately. Of this process alone: it saves work and log lines, and decides nothing."""

    def __init__(self) -> None:
        self._until: dict[uuid.UUID, float] = {}

    def add(self, pk: uuid.UUID) -> None:
        self._until[pk] = time.monotonic() + POISON_SECONDS

    def now(self) -> list[uuid.UUID]:
        moment = time.monotonic()
        self._until = {pk: until for pk, until in self._until.items() if until > moment}
        return list(self._until)


_poison = _Poison()


def _dispatch(rows: Sequence[Submission]) -> None:
    if not rows:
        return
    _make_deliveries([row for row in rows if not row.spam])
    _count(rows)
    for spam, counted_as in ((False, KEPT), (True, SPAM)):
        ids = [row.pk for row in rows if row.spam is spam]
        # The condition again: where the row lock is not one (SQLite ignores it), the mark still is.
        Submission.objects.undispatched().filter(pk__in=ids).update(dispatched_at=Now(), counted_as=counted_as)


def _count(rows: Iterable[Submission]) -> None:
    moves = new_moves()
    for row in rows:
        if row.counted_as == Submission.CountedAs.NOTHING:
            moves[key_of(row.form_id, row.created_at)].update({"received": 1, SPAM if row.spam else KEPT: 1})
    apply_moves(moves)


def _make_deliveries(rows: Sequence[Submission]) -> None:
    forms = Form.objects.in_bulk({row.form_id for row in rows})
    webhooks = _registered_webhooks(forms)
    named = NamedWebhooks(rows)
    deliveries: list[Delivery] = []
    for row in rows:
        form = forms[row.form_id]
        targets = [webhook for webhook in webhooks[form.pk] if _existed_for(webhook, row)]
        urls = {webhook.url for webhook in targets}
        targets += [webhook for webhook in named.of(row, form) if webhook.url not in urls and _may_hear(webhook, row)]
        body = submission_message(row, form.name) if targets else ""
        deliveries += [_to_webhook(row, webhook, body) for webhook in targets]
        deliveries += [_to_address(row, address) for address in _recipients(form)]
    # A submission that comes back from spam may have its deliveries already.
    Delivery.objects.bulk_create(deliveries, ignore_conflicts=True, batch_size=500)
    released = [row.pk for row in rows if row.released_at]
    if released:
        canceled = Delivery.objects.filter(submission__in=released, status=Delivery.Status.CANCELED)
        canceled = canceled.exclude(webhook__status=Webhook.Status.DISABLED)
        canceled.update(status=Delivery.Status.PENDING, next_attempt_at=Now(), attempt_count=0, finished_at=None)


def _registered_webhooks(forms: dict[uuid.UUID, Form]) -> dict[uuid.UUID, list[Webhook]]:
    by_form: dict[uuid.UUID, list[Webhook]] = defaultdict(list)
    registered = Webhook.objects.filter(form__in=forms).exclude(status=Webhook.Status.PENDING)
    for webhook in registered.order_by("id"):
        by_form[webhook.form_id].append(webhook)
    return by_form


def _existed_for(webhook: Webhook, row: Submission) -> bool:
    """Tell whether the webhook existed when the submission was accepted, or marked as not spam."""
    return webhook.created_at <= (row.released_at or row.created_at)


def _may_hear(webhook: Webhook, row: Submission) -> bool:
    return webhook.status == Webhook.Status.PENDING or _existed_for(webhook, row)


# What is owed to a webhook that gets nothing now: a pending one is sent it when it is activated; a disabled one was
# there when the submission was accepted, so replay must find it.
_WAITING = {Webhook.Status.PENDING: Delivery.Status.HELD, Webhook.Status.DISABLED: Delivery.Status.CANCELED}


def _to_webhook(row: Submission, webhook: Webhook, body: str) -> Delivery:
    status = _WAITING.get(Webhook.Status(webhook.status), Delivery.Status.PENDING)
    return Delivery(
        organization_id=row.organization_id,
        webhook=webhook,
        submission=row,
        message_id=message_id(row.pk),
        body=body,
        status=status,
        next_attempt_at=Now() if status == Delivery.Status.PENDING else None,
        finished_at=Now() if status == Delivery.Status.CANCELED else None,
    )


def _recipients(form: Form) -> list[str]:
    """Return the form's addresses, without what is none: the database would refuse the whole batch for it."""
    good = []
    for address in form.notification_recipients:
        try:
            validate_email(address)
            good.append(address)
        except ValidationError:
            logger.warning("form %s names a recipient that is no email address", form.pk)
    return good


def _to_address(row: Submission, address: str) -> Delivery:
    return Delivery(
        organization_id=row.organization_id,
        recipient=address,
        submission=row,
        message_id=message_id(row.pk),
        next_attempt_at=Now(),
    )
