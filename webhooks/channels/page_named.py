"""
The webhook that a page names (`data-webhook-url`, control field `_webhook`), made safe (docs/contract.md 6).

A page's key is public, so it must not make us call an address. A URL that the organization registered receives the
event as well; any other URL becomes a pending webhook of the form, whose deliveries are held.
"""

from collections.abc import Iterable

from django.db import transaction

from forms_app.models import Form
from submissions.models import Submission
from webhooks.channels.address_guard import UrlRefused, parse_url
from webhooks.events import public_events
from webhooks.models import Webhook

CONTROL = "_webhook"
MAX_PENDING = 20  # pending webhooks of one form


class NamedWebhooks:
    """
    Finds or creates the webhooks that the submissions of a batch name, each looked up once.

    Locks their forms, in key order, so that of two dispatchers the second counts the pending webhooks of the first.
    """

    def __init__(self, rows: Iterable[Submission]) -> None:
        naming = {row.form_id for row in rows if row.controls.get(CONTROL)}
        list(Form.objects.filter(pk__in=naming).order_by("pk").select_for_update(no_key=True).values_list("pk"))
        self._known: dict[tuple[object, str], list[Webhook]] = {}

    def of(self, row: Submission) -> list[Webhook]:
        """Return the webhooks that a submission names: none, registered ones, or a pending one."""
        form, url = row.form, row.controls.get(CONTROL, "")
        if not url or not _is_plausible(url):
            return []
        if (form.pk, url) not in self._known:
            self._known[form.pk, url] = _registered(form, url) or _pending(form, url)
        return self._known[form.pk, url]


def _is_plausible(url: str) -> bool:
    """Check the text only; the address of the host is checked on activation and at the socket."""
    try:
        parse_url(url)
    except UrlRefused:
        return False
    return True


def _registered(form: Form, url: str) -> list[Webhook]:
    active = Webhook.objects.filter(form__organization=form.organization_id, url=url, status=Webhook.Status.ACTIVE)
    return list(active.order_by("id"))[:1]


def _pending(form: Form, url: str) -> list[Webhook]:
    # Locked, so that a concurrent activation is over, or waits and then sends the deliveries that are held now.
    existing = Webhook.objects.filter(form=form, url=url).select_for_update(no_key=True).first()
    if existing is None and Webhook.objects.filter(form=form, status=Webhook.Status.PENDING).count() < MAX_PENDING:
        events = [name for name, _ in public_events()]
        with transaction.atomic():
            existing, _ = Webhook.objects.get_or_create(
                form=form, url=url, defaults={"status": Webhook.Status.PENDING, "events": events}
            )
    return [existing] if existing is not None and existing.status == Webhook.Status.PENDING else []
