"""
The webhook that a page names (`data-webhook-url`, control field `_webhook`), made safe (docs/contract.md 6).

A page's key is public, so it must not make us call an address. A URL that the organization registered receives the
event as well; any other URL becomes a pending webhook of the form, whose deliveries are held.
"""

import datetime as dt
from collections.abc import Iterable

from django.db import transaction

from config.base.times import now
from forms_app.models import Form
from submissions.models import Submission
from webhooks.channels.receiver_status import record_status
from webhooks.events import public_events
from webhooks.models import Receiver
from webhooks.transport.address_guard import canonical_host

CONTROL = "_webhook"
MAX_PENDING = 20  # pending webhooks of one form
MAX_PENDING_IN_ALL = 100  # of one organization; concurrent dispatchers may exceed it by a few
PENDING_KEPT = dt.timedelta(days=30)


class NamedWebhooks:
    """
    Finds or creates the webhooks that the submissions of a batch name, each looked up once.

    Locks their forms, in key order, so that of two dispatchers the second counts the pending webhooks of the first.
    """

    def __init__(self, rows: Iterable[Submission]) -> None:
        naming = {row.form_id for row in rows if row.controls.get(CONTROL)}
        list(Form.objects.filter(pk__in=naming).order_by("pk").select_for_update(no_key=True).values_list("pk"))
        self._known: dict[tuple[object, str, bool], list[Receiver]] = {}

    def of(self, row: Submission) -> list[Receiver]:
        """Return the webhooks that a submission names: none, registered ones, or a pending one, but for a test."""
        form, url = row.form, row.controls.get(CONTROL, "")
        if not canonical_host(url):  # the address of the host is checked on activation and at the socket
            return []
        named = form.pk, url, row.is_test
        if named not in self._known:
            self._known[named] = _registered(form, url) or ([] if row.is_test else _pending(form, url))
        return [webhook for webhook in self._known[named] if webhook.takes(row)]


def _registered(form: Form, url: str) -> list[Receiver]:
    own = Receiver.objects.webhooks().filter(organization=form.organization_id)
    return list(own.filter(url=url, status=Receiver.Status.ACTIVE).order_by("id")[:1])


def _pending(form: Form, url: str) -> list[Receiver]:
    # Locked, so that a concurrent activation is over, or waits and then sends the deliveries that are held now.
    existing = Receiver.objects.webhooks().serving(form).filter(url=url).select_for_update(no_key=True).first()
    if existing is None and _has_room(form):
        events = [name for name, _ in public_events()]
        with transaction.atomic():
            start = {"organization_id": form.organization_id, "status": Receiver.Status.PENDING, "events": events}
            existing, is_new = Receiver.objects.webhooks().get_or_create(form=form, url=url, defaults=start)
            if is_new:
                record_status(existing, "named", None)
    return [existing] if existing is not None and existing.status == Receiver.Status.PENDING else []


def _has_room(form: Form) -> bool:
    pending = Receiver.objects.filter(status=Receiver.Status.PENDING)
    of_organization = pending.filter(organization=form.organization_id)
    return pending.filter(form=form).count() < MAX_PENDING and of_organization.count() < MAX_PENDING_IN_ALL


def purge_pending() -> int:
    """Hide pending webhooks that nobody has activated for 30 days, to be deleted with their log; return how many."""
    old = Receiver.objects.filter(status=Receiver.Status.PENDING, created_at__lt=now() - PENDING_KEPT)
    old = old.filter(organization__suspended_at=None)
    purged = 0
    for pk in list(old.values_list("pk", flat=True)):
        with transaction.atomic():
            # Locked first, as an activation and a dispatch that adds to its deliveries do.
            if Receiver.objects.select_for_update().filter(pk=pk, status=Receiver.Status.PENDING).values_list("pk"):
                purged += 1
                Receiver.objects.get(pk=pk).hide()
    return purged
