"""The mail channel: who is mailed about an event, and which mail each one gets."""

import json
import logging
import uuid
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import translation
from django.utils.translation import gettext_lazy

from config.base.times import now
from config.secrets.encryption import decrypt
from forms_app.consent.addresses import mailbox_of
from forms_app.consent.opt_outs import opted_out_among
from forms_app.consent.recipients import is_member_of, mailable, stopped_among
from forms_app.models import Form
from keys.members import verified_members
from keys.models import Role
from keys.notices import ENGLISH, languages_of
from keys.plans import Plan
from submissions.files.records import load_files
from submissions.models import Submission
from webhooks.channels.channel import Channel
from webhooks.channels.mail_rendering import render_mail, render_notice, render_stored, render_test
from webhooks.enqueue import MAIL, Target
from webhooks.events import SUBMISSION_CREATED, TEST, TO_SUBMITTERS, Event, is_secret
from webhooks.models import Delivery
from webhooks.transport import smtp
from webhooks.transport.outcome import Outcome

TO_SUBMITTERS_NAMES = frozenset(event.name for event in TO_SUBMITTERS)

logger = logging.getLogger(__name__)


class MailChannel(Channel[smtp.Mail]):
    """Mails to a form's recipients, and notices to users (docs/contract.md 7)."""

    name = MAIL
    label = gettext_lazy("Mails")
    uses_body = False  # for a submission; test events and notices are stored with a body in any case

    def targets_of(self, event: Event, rows: Sequence[Submission]) -> dict[uuid.UUID, list[Target]]:
        """Return the recipients of each submission's form who are members or have confirmed their address."""
        if event.name != SUBMISSION_CREATED.name:
            return {}
        by_form = mailable({row.form_id: row.form for row in rows}.values())
        targets = {form: _valid(form, addresses) for form, addresses in by_form.items()}
        return {row.pk: targets.get(row.form_id, []) for row in rows}

    def prepare(self, deliveries: Sequence[Delivery]) -> None:
        """Mark deliveries to members, and those whose recipient has stopped the mails since; note their languages."""
        about_forms = [one for one in deliveries if one.submission or one.event == TEST.name]
        load_files(one.submission for one in deliveries if one.submission)
        languages = languages_of(one.target for one in about_forms) if about_forms else {}
        for delivery in about_forms:
            delivery.language = languages.get(delivery.target.lower(), "")
        to_submitters = [one for one in deliveries if one.event in TO_SUBMITTERS_NAMES]
        mailboxes = {one: (one.organization_id, mailbox_of(one.target)) for one in to_submitters if one.organization_id}
        opted_out = opted_out_among(mailboxes.values()) if mailboxes else set()
        for delivery, mailbox in mailboxes.items():
            delivery.is_stopped = mailbox in opted_out
        notified = {one: (one.submission.form_id, one.target.lower()) for one in deliveries if one.submission}
        if not notified:
            return
        members = verified_members({one.organization_id for one in notified if one.organization_id})
        stopped = stopped_among(notified.values())
        for delivery, pair in notified.items():
            form = delivery.submission.form  # type: ignore[union-attr]  # those of submissions are notified
            delivery.is_to_member = is_member_of(form, pair[1], members)
            member = members.get((form.organization_id, pair[1]))
            delivery.is_to_viewer = member is not None and member.role == Role.VIEWER
            sees_others_only = member is not None and not delivery.is_to_member
            delivery.is_stopped = pair in stopped or (sees_others_only and not _may_mail(form, pair[1]))

    def render(self, delivery: Delivery) -> smtp.Mail:
        """Return the mail for a submission, a test event, or any other event as a notice."""
        envelope = {"to": delivery.target, "message_id": smtp.message_id_for(delivery.public_id)}
        organization = delivery.organization
        if delivery.submission is not None:
            is_paid = organization is not None and organization.plan != Plan.FREE
            uses_subject = is_paid or delivery.is_to_member
            with translation.override(delivery.language or delivery.submission.form.language):
                return render_mail(
                    delivery.submission,
                    organization=organization,
                    uses_subject=uses_subject,
                    marks_spam=not delivery.is_to_viewer,
                    **envelope,
                )
        if is_secret(delivery.event):
            return render_stored(json.loads(decrypt(delivery.message.secret)), **envelope)
        body = json.loads(delivery.message.body)
        if delivery.event == TEST.name:
            with translation.override(delivery.language or ENGLISH):
                return render_test(body["data"], organization=organization, **envelope)
        with translation.override(body.get("language", ENGLISH)):  # those of an earlier release have none
            return render_notice(body, **envelope)

    def logged(self, delivery: Delivery, rendered: smtp.Mail) -> str:
        """Return a mail about a submission or a test; "" for notices and codes, which concern persons."""
        is_shown = delivery.submission is not None or delivery.event == TEST.name
        return smtp.logged_mail(rendered) if is_shown else ""

    def gate(self, delivery: Delivery) -> Delivery.Status:
        """
        Return RECORDED for a mail of a test submission, CANCELED for one that is out of date, was stopped, or whose
        secret body was dropped at its end.
        """
        message = delivery.message
        if delivery.submission is not None and delivery.submission.is_test:
            return Delivery.Status.RECORDED
        if delivery.is_stopped:
            return Delivery.Status.CANCELED
        if message.expires_at is not None and message.expires_at <= now():
            return Delivery.Status.CANCELED
        if is_secret(delivery.event) and not message.secret:
            return Delivery.Status.CANCELED
        return super().gate(delivery)

    def send(self, rendered: smtp.Mail) -> Outcome:
        return smtp.send(rendered)


def _may_mail(form: Form, address: str) -> bool:
    return address in {one.lower() for one in mailable([form]).get(form.pk, [])}


def _valid(form: uuid.UUID, addresses: Sequence[str]) -> list[Target]:
    """Return a form's valid addresses as targets: the database would refuse the whole batch for an invalid one."""
    valid = []
    for address in addresses:
        try:
            validate_email(address)
            valid.append(Target(MAIL, address))
        except ValidationError:
            logger.warning("form %s has a recipient that is not an email address", form)
    return valid
