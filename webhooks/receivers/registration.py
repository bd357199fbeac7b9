"""Webhooks: registering, changing and activating one, and its secrets."""

import datetime as dt
from typing import Any

from django.db import IntegrityError
from django.db.models import Count, Max
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import Conflict
from config.base.times import now
from forms_app.models import Form
from keys.models import Organization
from keys.notices import notify_owners
from keys.plans import Plan
from webhooks.channels.receiver_status import ACTIVE, PENDING, record
from webhooks.enqueue import host_of
from webhooks.kinds.addresses import check_address
from webhooks.models import Delivery, Receiver, ReceiverQuerySet
from webhooks.receivers.actions import adding, change_mode, changing, check_form, move, recorded
from webhooks.signing import new_secret
from webhooks.transport.address_guard import canonical_host

MAX_WEBHOOKS = 100  # of one form, those of all forms counted; each of them receives every submission
MAX_OF_HOST = 5  # of an organization on Free: a host that never agreed gets few copies of a submission
ROTATION_GRACE = dt.timedelta(hours=24)  # both secrets sign until then


def register_webhook(
    *,
    organization: Organization,
    form: Form | None,
    url: str,
    events: list[str],
    mode: str = Receiver.Mode.LIVE,
) -> Receiver:
    """
    Attach an endpoint to a form, or to all forms of an organization.

    Raises Conflict for an archived form, for a URL that one of these forms has already, and for too many webhooks;
    ValidationFailed for a refused URL, NotFound for a form that was erased meanwhile.
    """
    check_form(form)
    check_address(url, "url")
    try:
        with adding(form):
            made = Receiver.objects.create(organization=organization, form=form, url=url, events=events, mode=mode)
            _wait_for_others(made)
            _refuse_same_url(made)
            _refuse_too_many(made)
            _refuse_too_many_of_host(made)
            record(made, "created", {}, recorded(made))
            _tell_owners(made)
            return made
    except IntegrityError:
        raise _same_url(form) from None


def _wait_for_others(webhook: Receiver) -> None:
    """
    Lock the organization, so that of two concurrent registrations the second one sees the first.

    After the webhook is written: dispatch locks webhooks before organizations too.
    """
    Organization.objects.select_for_update(no_key=True).get(pk=webhook.organization_id)


def _refuse_same_url(webhook: Receiver) -> None:
    """Raise Conflict if one of its forms has its URL twice: by itself, and by a webhook of all forms."""
    same = _webhooks_beside(webhook).filter(url=webhook.url).exclude(pk=webhook.pk)
    if webhook.form is not None:
        wide = same.filter(form=None).first()
        if wide is not None:
            raise Conflict(
                gettext(
                    "A webhook of all forms has this URL already: %(webhook)s. It receives the submissions of this "
                    "form too. Change that one instead."
                )
                % {"webhook": wide.public_id}
            )
        return
    found = same.select_related("form").order_by("id").first()
    if found is not None:
        raise Conflict(
            gettext("The form “%(form)s” has a webhook with this URL already: %(webhook)s. Delete that one first.")
            % {"form": found.scope, "webhook": found.public_id}
        )


def _refuse_too_many(webhook: Receiver) -> None:
    """Raise Conflict if one of its forms has more than MAX_WEBHOOKS now, those of all forms counted."""
    counted = _webhooks_beside(webhook).exclude(status=PENDING)
    if webhook.form is not None:
        total = counted.serving(webhook.form).count()
    else:
        by_form = counted.filter(form__isnull=False).order_by().values("form")
        fullest = by_form.annotate(total=Count("pk")).aggregate(most=Max("total"))["most"] or 0
        total = counted.filter(form=None).count() + fullest
    if total > MAX_WEBHOOKS:
        raise Conflict(
            gettext("A form has at most %(most)s webhooks, those of all forms counted. Delete one first.")
            % {"most": MAX_WEBHOOKS}
        )


def _refuse_too_many_of_host(webhook: Receiver) -> None:
    """Raise Conflict if an organization on Free has more than MAX_OF_HOST webhooks of its host now."""
    if webhook.organization.plan != Plan.FREE:
        return
    counted = _webhooks_beside(webhook).exclude(status=PENDING)
    host = canonical_host(webhook.url)
    if sum(canonical_host(url) == host for url in counted.values_list("url", flat=True)) > MAX_OF_HOST:
        raise Conflict(
            gettext(
                "An organization on the Free plan has at most %(most)s webhooks of one host, %(host)s. Delete one "
                "first, or send to it from one webhook of all forms."
            )
            % {"most": MAX_OF_HOST, "host": host}
        )


def _webhooks_beside(webhook: Receiver) -> ReceiverQuerySet:
    """Return the webhooks of its organization, itself among them."""
    return Receiver.objects.webhooks().filter(organization=webhook.organization_id)


def change_webhook(webhook: Receiver, values: dict[str, Any]) -> Receiver:
    """
    Change `url`, `events`, `mode` or `status`.

    Raises what `register_webhook` raises; NotFound for one that was deleted.
    """
    if "url" in values:
        check_address(values["url"], "url")
    elif values.get("status") == ACTIVE and webhook.status != ACTIVE:
        check_address(webhook.url, "url")  # a page named a pending one, which was never checked
    try:
        with changing(webhook) as found:
            is_activated = found.status == PENDING and values.get("status") == ACTIVE
            is_new = is_activated or values.get("url", found.url) != found.url
            old_host = "" if is_activated else canonical_host(found.url)
            for name in values.keys() & {"url", "events"}:
                setattr(found, name, values[name])
            found.save(update_fields=["url", "events"])
            change_mode(found, values.get("mode", found.mode))
            unsent = found.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
            unsent.exclude(host=host_of(found.url)).update(host=host_of(found.url))
            move(found, values.get("status", found.status))
            if is_new:
                _wait_for_others(found)
                _refuse_same_url(found)
                if canonical_host(found.url) != old_host:
                    _refuse_too_many_of_host(found)
                _tell_owners(found)
            if is_activated:
                _refuse_too_many(found)
    except IntegrityError:
        raise _same_url(webhook.form) from None
    return found


def _tell_owners(webhook: Receiver) -> None:
    """Mail the owners about an endpoint that receives submissions from now on."""
    if webhook.form is None:
        subject = gettext_lazy("New webhook of all forms")
        text = gettext_lazy(
            "From now on the submissions of all forms of %(organization)s are sent to %(endpoint)s.\n\n"
            "If you do not know why, disable the webhook on the page Destinations, and look at the audit trail."
        )
    else:
        subject = gettext_lazy("New webhook of the form %(form)s")
        text = gettext_lazy(
            "From now on the submissions of the form “%(form)s” of %(organization)s are sent to %(endpoint)s.\n\n"
            "If you do not know why, disable the webhook on the page Destinations, and look at the audit trail."
        )
    values = {
        "form": webhook.scope,
        "organization": webhook.organization.name,
        "endpoint": webhook.url.partition("?")[0],  # a query may hold a token
    }
    notify_owners(webhook.organization, "webhook.created", subject=subject, text=text, values=values)


def rotate_secret(webhook: Receiver) -> Receiver:
    """Give a webhook a new secret; the old one signs as well for 24 hours."""
    with changing(webhook) as found:
        found.previous_secret, found.previous_secret_until = found.secret, now() + ROTATION_GRACE
        found.secret = new_secret()
        found.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
        record(found, "secret_rotated", {}, {})
    return found


def _same_url(form: Form | None) -> Conflict:
    if form is None:
        return Conflict(gettext("A webhook of all forms has this URL already. Change that one instead."))
    return Conflict(gettext("This form has a webhook with this URL already. Change that one instead."))
