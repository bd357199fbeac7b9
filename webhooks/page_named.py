"""
The webhook that a page names (`data-webhook-url`, control field `_webhook`), made safe (CONTRACT section 6).

A page's key is public, so nobody holding it can make us call an address: a URL that the organization registered gets
the event as well; any other becomes a pending webhook of the form, and what is owed to it is held.
"""

from collections.abc import Iterable

from django.db import transaction

from forms_app.models import Form
from submissions.models import Submission
from webhooks.channels.address_guard import UrlRefused, parse_url
from webhooks.models import Event, Webhook

CONTROL = "_webhook"
MAX_PENDING = 20  # pending webhooks of one form


class NamedWebhooks:
    """
    Finds or makes the webhooks that the submissions of a batch name, each looked up once.

    Locks their forms, in key order: of two dispatchers the second counts the pending webhooks that the first made.
    """

    def __init__(self, rows: Iterable[Submission]) -> None:
        naming = {row.form_id for row in rows if row.controls.get(CONTROL)}
        list(Form.objects.filter(pk__in=naming).order_by("pk").select_for_update(no_key=True).values_list("pk"))
        self._known: dict[tuple[object, str], list[Webhook]] = {}

    def of(self, row: Submission, form: Form) -> list[Webhook]:
        """Return the webhooks that a submission names: none, registered ones, or a pending one."""
        url = row.controls.get(CONTROL, "")
        if not url or not _is_plausible(url):
            return []
        if (form.pk, url) not in self._known:
            self._known[form.pk, url] = _registered(form, url) or _pending(form, url)
        return self._known[form.pk, url]


def _is_plausible(url: str) -> bool:
    """Check the text alone; whether the host may be called is asked when it is activated and at the socket."""
    try:
        parse_url(url)
    except UrlRefused:
        return False
    return True


def _registered(form: Form, url: str) -> list[Webhook]:
    active = Webhook.objects.filter(form__organization=form.organization_id, url=url, status=Webhook.Status.ACTIVE)
    return list(active.order_by("id"))[:1]


def _pending(form: Form, url: str) -> list[Webhook]:
    # Locked, so that an activation under way is over, or waits and then sends what is held for it now.
    existing = Webhook.objects.filter(form=form, url=url).select_for_update(no_key=True).first()
    if existing is None and Webhook.objects.filter(form=form, status=Webhook.Status.PENDING).count() < MAX_PENDING:
        with transaction.atomic():
            existing, _ = Webhook.objects.get_or_create(
                form=form, url=url, defaults={"status": Webhook.Status.PENDING, "events": Event.values}
            )
    return [existing] if existing is not None and existing.status == Webhook.Status.PENDING else []
