"""The actions on webhooks: register, change, disable, rotate, test. API and dashboard call the same functions."""

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Max, OuterRef
from django.db.models.functions import Now
from django.utils.functional import lazy
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict, invalid
from config.api.find_owned import still_there
from config.api.ratelimit import take_share
from config.nudge import DELIVER, nudge
from config.times import now
from forms_app.models import Form
from keys.audit import record_event
from keys.audit.changes import changes, values_of
from keys.models import Organization
from keys.notices import notify_owners
from keys.plans import Plan
from submissions.models import Submission
from webhooks.channels.connections.address_guard import UrlRefused, canonical_host, check_url
from webhooks.channels.webhook_health import disable
from webhooks.enqueue import enqueue, host_of, webhook_target
from webhooks.events import TEST
from webhooks.models import IN_FLIGHT, Delivery, Webhook
from webhooks.retention import delete_hidden
from webhooks.signing import new_secret

MAX_WEBHOOKS = 100  # of one form, those of all forms counted; each of them receives every submission
MAX_OF_HOST = 5  # of an organization on Free: a host that never agreed gets few copies of a submission
ROTATION_GRACE = dt.timedelta(hours=24)  # both secrets sign until then
DISABLED_BY_HAND = gettext_noop("Disabled by hand.")
RECORDED = ("url", "events", "status", "form_id")  # in the audit trail; the secret is not
ACTIVE, PENDING, DISABLED = Webhook.Status.ACTIVE, Webhook.Status.PENDING, Webhook.Status.DISABLED


def register_webhook(
    *, form: Form | None = None, all_forms_of: Organization | None = None, url: str, events: list[str]
) -> Webhook:
    """
    Attach an endpoint to a form, or to all forms of an organization.

    Raises Conflict for an archived form, for a URL that one of these forms has already, and for too many webhooks;
    ValidationFailed for a refused URL, NotFound for a form that was erased meanwhile.
    """
    if form is not None and form.status == Form.Status.ARCHIVED:
        raise Conflict(gettext("This form is archived and takes no more submissions. Choose another form."))
    _check_url(url)
    try:
        with transaction.atomic():
            if form is not None:
                still_there(Form.objects.select_for_update(no_key=True), form.pk)  # it could be erased now
            made = Webhook.objects.create(form=form, all_forms_of=all_forms_of, url=url, events=events)
            _wait_for_others(made)
            _refuse_same_url(made)
            _refuse_too_many(made)
            _refuse_too_many_of_host(made)
            _record(made, "webhook.created", {}, values_of(made, *RECORDED))
            _tell_owners(made)
            return made
    except IntegrityError:
        raise _same_url(form) from None


def _wait_for_others(webhook: Webhook) -> None:
    """
    Lock the organization, so that of two concurrent registrations the second one sees the first.

    After the webhook is written: dispatch locks webhooks before organizations too.
    """
    Organization.objects.select_for_update(no_key=True).get(pk=webhook.organization_id)


def _refuse_same_url(webhook: Webhook) -> None:
    """Raise Conflict if one of its forms has its URL twice: by itself, and by a webhook of all forms."""
    if webhook.form is not None:
        wide = Webhook.objects.filter(all_forms_of=webhook.organization_id, url=webhook.url).first()
        if wide is not None:
            raise Conflict(
                gettext(
                    "A webhook of all forms has this URL already: %(webhook)s. It receives the submissions of this "
                    "form too. Change that one instead."
                )
                % {"webhook": wide.public_id}
            )
        return
    narrow = Webhook.objects.filter(form__organization=webhook.organization_id, url=webhook.url)
    found = narrow.select_related("form").order_by("id").first()
    if found is not None:
        raise Conflict(
            gettext("The form “%(form)s” has a webhook with this URL already: %(webhook)s. Delete that one first.")
            % {"form": found.scope, "webhook": found.public_id}
        )


def _refuse_too_many(webhook: Webhook) -> None:
    """Raise Conflict if one of its forms has more than MAX_WEBHOOKS now, those of all forms counted."""
    counted = Webhook.objects.exclude(status=PENDING)
    if webhook.form is not None:
        total = counted.serving(webhook.form).count()
    else:
        by_form = counted.filter(form__organization=webhook.organization_id).order_by().values("form")
        fullest = by_form.annotate(total=Count("pk")).aggregate(most=Max("total"))["most"] or 0
        total = counted.filter(all_forms_of=webhook.organization_id).count() + fullest
    if total > MAX_WEBHOOKS:
        raise Conflict(
            gettext("A form has at most %(most)s webhooks, those of all forms counted. Delete one first.")
            % {"most": MAX_WEBHOOKS}
        )


def _refuse_too_many_of_host(webhook: Webhook) -> None:
    """Raise Conflict if an organization on Free has more than MAX_OF_HOST webhooks of its host now."""
    if webhook.organization.plan != Plan.FREE:
        return
    counted = Webhook.objects.of_organization(webhook.organization_id).exclude(status=PENDING)
    host = canonical_host(webhook.url)
    if sum(canonical_host(url) == host for url in counted.values_list("url", flat=True)) > MAX_OF_HOST:
        raise Conflict(
            gettext(
                "An organization on the Free plan has at most %(most)s webhooks of one host, %(host)s. Delete one "
                "first, or send to it from one webhook of all forms."
            )
            % {"most": MAX_OF_HOST, "host": host}
        )


def change_webhook(webhook: Webhook, values: dict[str, Any]) -> Webhook:
    """Change `url`, `events` or `status`. Raises what `register_webhook` raises; NotFound for one that was deleted."""
    if "url" in values:
        _check_url(values["url"])
    elif values.get("status") == ACTIVE and webhook.status != ACTIVE:
        _check_url(webhook.url)  # a page named a pending one, which was never checked
    try:
        with transaction.atomic():
            webhook = still_there(Webhook.objects.select_for_update(), webhook.pk)
            before = values_of(webhook, *RECORDED)
            is_activated = webhook.status == PENDING and values.get("status") == ACTIVE
            is_new = is_activated or values.get("url", webhook.url) != webhook.url
            old_host = "" if is_activated else canonical_host(webhook.url)
            for name in values.keys() & {"url", "events"}:
                setattr(webhook, name, values[name])
            webhook.save(update_fields=["url", "events"])
            unsent = webhook.deliveries.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.HELD])
            unsent.exclude(host=host_of(webhook.url)).update(host=host_of(webhook.url))
            _move(webhook, values.get("status", webhook.status))
            webhook.refresh_from_db()
            if values_of(webhook, *RECORDED) != before:
                _record(webhook, "webhook.changed", before, values_of(webhook, *RECORDED))
            if is_new:
                _wait_for_others(webhook)
                _refuse_same_url(webhook)
                if canonical_host(webhook.url) != old_host:
                    _refuse_too_many_of_host(webhook)
                _tell_owners(webhook)
            if is_activated:
                _refuse_too_many(webhook)
        return still_there(Webhook.objects.select_related("form"), webhook.pk)
    except IntegrityError:
        raise _same_url(webhook.form) from None


def _tell_owners(webhook: Webhook) -> None:
    """Mail the owners about an endpoint that receives submissions from now on."""
    subject, text = lazy(_new_subject, str)(webhook), lazy(_new_text, str)(webhook)
    notify_owners(webhook.organization, "webhook.created", subject=subject, text=text)


def _new_subject(webhook: Webhook) -> str:
    if webhook.form is None:
        return gettext("New webhook of all forms")
    return gettext("New webhook of the form %(form)s") % {"form": webhook.form.name}


def _new_text(webhook: Webhook) -> str:
    if webhook.form is None:
        text = gettext(
            "From now on the submissions of all forms of %(organization)s are sent to %(endpoint)s.\n\n"
            "If you do not know why, disable the webhook on the page Webhooks, and look at the audit trail."
        )
    else:
        text = gettext(
            "From now on the submissions of the form “%(form)s” of %(organization)s are sent to %(endpoint)s.\n\n"
            "If you do not know why, disable the webhook on the page Webhooks, and look at the audit trail."
        )
    return text % {
        "form": webhook.form.name if webhook.form else "",
        "organization": webhook.organization.name,
        "endpoint": webhook.url.partition("?")[0],  # a query may hold a token
    }


def _move(webhook: Webhook, status: str) -> None:
    if status == webhook.status:
        return
    if status == DISABLED:
        disable(webhook, DISABLED_BY_HAND)
        return
    webhook.status, webhook.disabled_reason = status, ""
    webhook.failing_since, webhook.failure_count = None, 0
    webhook.probe_at, webhook.in_flight_limit = None, IN_FLIGHT
    health = ["failing_since", "failure_count", "probe_at", "in_flight_limit"]
    webhook.save(update_fields=["status", "disabled_reason", *health])
    held = webhook.deliveries.filter(status=Delivery.Status.HELD)
    held.update(status=Delivery.Status.PENDING, next_attempt_at=Now())
    transaction.on_commit(lambda: nudge(DELIVER))


def disable_webhook(webhook: Webhook) -> tuple[Webhook, dt.datetime]:
    """Disable a webhook by hand. Returns it with the database's time before, which `undo_disabling` takes."""
    with transaction.atomic():
        still_there(Webhook.objects.select_for_update(), webhook.pk)
        moments = Webhook.objects.annotate(moment=Now()).values_list("moment", flat=True)
        before: dt.datetime = moments.get(pk=webhook.pk)
        return change_webhook(webhook, {"status": DISABLED}), before


def undo_disabling(webhook: Webhook, since: dt.datetime) -> int:
    """
    Make a webhook that was disabled by hand active, as if nothing had happened; return the restored deliveries.

    Deliveries canceled at `since` or later are due now, and keep their attempts; the health of the endpoint stays.
    Those of spam stay canceled. Raises Conflict if it is not disabled by hand any more.
    """
    with transaction.atomic():
        webhook = still_there(Webhook.objects.select_for_update(), webhook.pk)
        if webhook.disabled_reason != DISABLED_BY_HAND:
            raise Conflict(gettext("The webhook was changed in the meantime. Nothing was undone."))
        before = values_of(webhook, *RECORDED)
        webhook.status, webhook.disabled_reason = ACTIVE, ""
        webhook.save(update_fields=["status", "disabled_reason"])
        spam = Submission.objects.filter(pk=OuterRef("submission_id"), spam=True)
        canceled = webhook.deliveries.filter(~Exists(spam), status=Delivery.Status.CANCELED, finished_at__gte=since)
        restored = canceled.update(status=Delivery.Status.PENDING, next_attempt_at=Now(), finished_at=None)
        _record(webhook, "webhook.changed", before, values_of(webhook, *RECORDED))
        transaction.on_commit(lambda: nudge(DELIVER))
    return restored


def delete_webhook(webhook: Webhook) -> None:
    """Delete a webhook with its log; of a long log, the rest is deleted by the next hourly clean-up."""
    with transaction.atomic():
        found = Webhook.objects.select_for_update().filter(pk=webhook.pk).first()
        if found is not None:
            _record(found, "webhook.deleted", values_of(found, *RECORDED), {})
            found.hide()
    if found is not None:
        delete_hidden(found)


def _record(webhook: Webhook, action: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    record_event(
        organization=webhook.organization_id,
        action=action,
        subject=webhook.subject,
        changes=changes(before, after),
    )


def rotate_secret(webhook: Webhook) -> Webhook:
    """Give a webhook a new secret; the old one signs as well for 24 hours."""
    with transaction.atomic():
        webhook = still_there(Webhook.objects.select_for_update(), webhook.pk)
        webhook.previous_secret, webhook.previous_secret_until = webhook.secret, now() + ROTATION_GRACE
        webhook.secret = new_secret()
        webhook.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
        _record(webhook, "webhook.secret_rotated", {}, {})
    return webhook


def send_test(webhook: Webhook) -> Delivery:
    """
    Queue a test event: one attempt, in the same log.

    Raises Conflict unless the webhook is active, RateLimited after an organization's TEST_EVENTS.
    """
    refuse_inactive(webhook)
    take_share("test-event", webhook.organization_id, settings.TEST_EVENTS)
    organization = webhook.organization_id
    example_of = webhook.form or Form.objects.get(organization=organization, is_default=True)
    with transaction.atomic():
        still_there(Webhook.objects.select_for_update(no_key=True), webhook.pk)
        (test,) = enqueue(TEST, example_of, [webhook_target(webhook)], organization_id=organization)
        transaction.on_commit(lambda: nudge(DELIVER))
        return Delivery.objects.select_related("message", "webhook").defer("message__body").get(pk=test.pk)


def refuse_inactive(webhook: Webhook) -> None:
    """Raise Conflict for a webhook that is pending or disabled."""
    if webhook.status == PENDING:
        raise Conflict(gettext("This webhook is pending. Activate it first."))
    if webhook.status != ACTIVE:
        raise Conflict(gettext("This webhook is disabled. Activate it first."))


def _check_url(url: str) -> None:
    try:
        check_url(url)
    except UrlRefused as error:
        raise invalid("url", error.code, str(error)) from None


def _same_url(form: Form | None) -> Conflict:
    if form is None:
        return Conflict(gettext("A webhook of all forms has this URL already. Change that one instead."))
    return Conflict(gettext("This form has a webhook with this URL already. Change that one instead."))
