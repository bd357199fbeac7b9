"""The actions on destinations: create, change, delete, test. API and dashboard call the same functions."""

import datetime as dt
import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from config.api.errors import Conflict, Detail, ValidationFailed
from config.api.find_owned import still_there
from config.api.ratelimit import take_share
from config.nudge import DELIVER, nudge
from config.secrets.encryption import CannotDecrypt, decrypt
from config.times import now
from forms_app.models import Form
from forms_app.texts.placeholders import TemplateRefused
from keys.audit import record_event
from keys.audit.changes import changes, values_of
from keys.models import Organization
from submissions.json_text import dump_json
from submissions.models import Submission
from webhooks.channels.destinations.base import Config, Kind
from webhooks.channels.destinations.health import release
from webhooks.channels.destinations.http_template import refuse_undeclared
from webhooks.channels.destinations.kinds import KINDS
from webhooks.enqueue import destination_target, enqueue
from webhooks.events import TEST
from webhooks.models import Delivery, Destination
from webhooks.registration import DISABLED_BY_HAND
from webhooks.replays import refuse_stopped
from webhooks.retention import delete_hidden

MAX_DESTINATIONS = 100  # of an organization
COUNTED_TO = 1_000  # held deliveries; a larger number is not counted further
RECORDED = ("name", "status", "form_id", "config")  # in the audit trail, which says only that the config is another one
ACTIVE, DISABLED = Destination.Status.ACTIVE, Destination.Status.DISABLED
NEEDS_ATTENTION = Destination.Status.NEEDS_ATTENTION


def check_new_destination(form: Form | None, kind: str, config: Any) -> Config:
    """
    Return the checked config of a new destination.

    Raises Conflict for an archived form, ValidationFailed for a config that its kind refuses.
    """
    if form is not None and form.status == Form.Status.ARCHIVED:
        raise Conflict(gettext("This form is archived and takes no more submissions. Choose another form."))
    return _checked(form, kind, config)


def add_destination(
    *, organization: Organization, form: Form | None, kind: str, name: str, config: Config
) -> Destination:
    """
    Store a destination whose config `check_new_destination` returned.

    Raises Conflict for too many, NotFound for a form that was erased meanwhile.
    """
    with transaction.atomic():
        if form is not None:
            still_there(Form.objects.select_for_update(no_key=True), form.pk)
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        if Destination.objects.filter(organization=organization).count() >= MAX_DESTINATIONS:
            text = gettext("An organization has at most %(most)s destinations. Delete one first.")
            raise Conflict(text % {"most": MAX_DESTINATIONS})
        made = Destination.objects.create(
            organization=organization, form=form, kind=kind, name=name, config=dump_json(config)
        )
        _record(made, "destination.created", {}, values_of(made, *RECORDED))
    return made


def change_destination(destination: Destination, values: dict[str, Any]) -> Destination:
    """
    Change `name`, `config` (as a whole) or `status`.

    Raises what `check_new_destination` raises about a config, NotFound if it was deleted meanwhile.

    A new config releases what a destination that needed attention has held. Disabling cancels pending and held
    deliveries.
    """
    config = _checked(destination.form, destination.kind, values["config"]) if "config" in values else None
    with transaction.atomic():
        destination = still_there(Destination.objects.select_for_update(), destination.pk)
        before = values_of(destination, *RECORDED)
        destination.name = values.get("name", destination.name)
        if config is not None:
            destination.config, destination.quiet_until = dump_json(config), None  # it was another receiver's wish
        destination.updated_at = now()
        destination.save(update_fields=["name", "config", "quiet_until", "updated_at"])
        _move(destination, values.get("status"), has_new_config=config is not None)
        after = values_of(destination, *RECORDED)
        if config is None:
            after["config"] = before["config"]
        if after != before:
            _record(destination, "destination.changed", before, after)
        destination.refresh_from_db()
    return destination


def _move(destination: Destination, status: str | None, *, has_new_config: bool) -> None:
    if status == DISABLED:
        if destination.status != DISABLED:
            _disable(destination)
    elif (destination.status == NEEDS_ATTENTION and (has_new_config or status == ACTIVE)) or (
        destination.status == DISABLED and status == ACTIVE
    ):
        release(destination)


def _disable(destination: Destination) -> None:
    destination.status, destination.disabled_reason = DISABLED, DISABLED_BY_HAND
    destination.save(update_fields=["status", "disabled_reason"])
    waiting = [Delivery.Status.PENDING, Delivery.Status.HELD]
    unsent = destination.deliveries.filter(status__in=waiting, lease_token=None)
    unsent.update(status=Delivery.Status.CANCELED, next_attempt_at=None, finished_at=Now())


def disable_destination(destination: Destination) -> dict[str, str]:
    """Disable a destination. Return its status and the database's time before, which `undo_disabling` takes."""
    with transaction.atomic():
        destination = still_there(Destination.objects.select_for_update(), destination.pk)
        if destination.status == DISABLED:
            raise Conflict(gettext("This destination is disabled already."))
        moment: dt.datetime = (
            Destination.objects.annotate(moment=Now()).values_list("moment", flat=True).get(pk=destination.pk)
        )
        kept = {"status": destination.status, "reason": destination.disabled_reason, "since": moment.isoformat()}
        change_destination(destination, {"status": DISABLED})
    return kept


def undo_disabling(destination: Destination, kept: Mapping[str, str]) -> int:
    """
    Give a destination that was disabled the status before, and its deliveries too; return how many were restored.

    Those of spam stay canceled. Raises Conflict if it is not disabled any more.
    """
    with transaction.atomic():
        destination = still_there(Destination.objects.select_for_update(), destination.pk)
        if destination.status != DISABLED:
            raise Conflict(gettext("The destination was changed in the meantime. Nothing was undone."))
        before = values_of(destination, *RECORDED)
        destination.status, destination.disabled_reason = kept["status"], kept["reason"]
        destination.save(update_fields=["status", "disabled_reason"])
        spam = Submission.objects.filter(pk=OuterRef("submission_id"), spam=True)
        since = dt.datetime.fromisoformat(kept["since"])
        canceled = destination.deliveries.filter(~Exists(spam), status=Delivery.Status.CANCELED, finished_at__gte=since)
        if destination.status == NEEDS_ATTENTION:
            restored = canceled.exclude(event=TEST.name).update(status=Delivery.Status.HELD, finished_at=None)
        else:
            restored = canceled.update(status=Delivery.Status.PENDING, next_attempt_at=Now(), finished_at=None)
        _record(destination, "destination.changed", before, values_of(destination, *RECORDED))
        transaction.on_commit(lambda: nudge(DELIVER))
    return restored


def held_for(destinations: Collection[Destination]) -> dict[uuid.UUID, int]:
    """Return the number of held deliveries of each destination that has some, each counted to COUNTED_TO."""
    held = Delivery.objects.filter(status=Delivery.Status.HELD)
    counts = {each.pk: held.filter(destination=each)[: COUNTED_TO + 1].count() for each in destinations}
    return {pk: count for pk, count in counts.items() if count}


def needing_attention(organization: Organization) -> QuerySet[Destination]:
    """Return the destinations of an organization that wait for a correction."""
    return Destination.objects.filter(organization=organization, status=NEEDS_ATTENTION)


def delete_destination(destination: Destination) -> None:
    """Delete a destination with its log; of a long log, the rest is deleted by the next hourly clean-up."""
    with transaction.atomic():
        found = Destination.objects.select_for_update().filter(pk=destination.pk).first()
        if found is not None:
            _record(found, "destination.deleted", values_of(found, *RECORDED), {})
            found.hide()
    if found is not None:
        delete_hidden(found)


def send_test_to(destination: Destination) -> Delivery:
    """
    Queue a test: one attempt, in the same log. A successful one releases a destination that needs attention.

    Raises Conflict for a disabled destination, RateLimited after an organization's TEST_EVENTS.
    """
    if destination.status == DISABLED:
        refuse_stopped(destination)  # one that needs attention is tested to release it
    take_share("test-event", destination.organization_id, settings.TEST_EVENTS)
    organization = destination.organization_id
    example_of = destination.form or Form.objects.get(organization=organization, is_default=True)
    with transaction.atomic():
        still_there(Destination.objects.select_for_update(no_key=True), destination.pk)
        (test,) = enqueue(TEST, example_of, [destination_target(destination)], organization_id=organization)
        transaction.on_commit(lambda: nudge(DELIVER))
        return Delivery.objects.select_related("message", "destination").defer("message__body").get(pk=test.pk)


def config_of(destination: Destination) -> Config:
    """Return the config as it is shown: each secret is a hint. {} if it cannot be read: that must not stop a list."""
    try:
        return KINDS[destination.kind].shown(json.loads(decrypt(destination.config)))
    except (KeyError, CannotDecrypt):
        return {}


def refuse_undeclared_names(form: Form | None, kind: Kind, config: Config) -> None:
    """Raise ValidationFailed for a template with a name that the form does not declare, if it declares any."""
    template = kind.template_of(config)
    if form is not None and template is not None:
        try:
            refuse_undeclared(template, {field["name"] for field in form.fields})
        except TemplateRefused as error:
            raise ValidationFailed([Detail("config.template", error.code, str(error))]) from None


def _checked(form: Form | None, kind: str, config: Any) -> Config:
    found = KINDS[kind]
    read = found.read(config)
    refuse_undeclared_names(form, found, read)
    found.check_addresses(read)
    return read


def _record(destination: Destination, action: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    record_event(
        organization=destination.organization_id,
        action=action,
        subject=destination.subject,
        changes=changes(before, after),
    )
