"""
The people who are mailed about a form: members of its organization, and others who have confirmed by a mailed link.

Any of them can stop the mails by a link, whose token is signed: it says the form and a digest of the address, so a mail
can be rendered without a query and its link in a log names nobody.
"""

import datetime as dt
import secrets
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.db.models import TextChoices
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import Conflict
from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.consent.questions import count_question, mailbox_key
from forms_app.models import Form, Recipient
from keys.audit import record_event
from keys.members import verified_members
from keys.models import Membership, Organization
from keys.seen_forms import SeenForms
from keys.tokens import digest

GOOD_FOR = dt.timedelta(days=7)  # of a confirmation's link
ASK_AGAIN_AFTER = dt.timedelta(minutes=10)
MOST_ASKED = 5  # mails that ask one address to confirm one form
DIGEST_CHARACTERS = 20


def _stops() -> Signer:
    return Signer(salt="forms_app.recipients.stop", sep=".")


class LinkInvalid(ValueError):
    """No recipient has this link: it is misspelt, or the form is erased."""


class State(TextChoices):
    """Of an address of a form, as its owner sees it. EXPIRED: nobody used the link within 7 days."""

    MEMBER = "member", gettext_lazy("Member")
    CONFIRMED = "confirmed", gettext_lazy("Confirmed")
    WAITING = "waiting", gettext_lazy("Waiting for confirmation")
    EXPIRED = "expired", gettext_lazy("Not confirmed")
    STOPPED = "stopped", gettext_lazy("Stopped by the recipient")


@dataclass(frozen=True, slots=True)
class Standing:
    address: str
    state: State
    can_be_asked: bool = False


def standings(form: Form) -> list[Standing]:
    return standings_of([form])[form.pk]


def mailable(forms: Iterable[Form]) -> dict[uuid.UUID, list[str]]:
    """Return the addresses that may be mailed about each of these forms now. At most two queries for all."""
    wanted = [form for form in forms if form.notification_recipients]
    return {
        form: [one.address for one in found if one.state in (State.MEMBER, State.CONFIRMED)]
        for form, found in (standings_of(wanted) if wanted else {}).items()
    }


def standings_of(forms: Collection[Form]) -> dict[uuid.UUID, list[Standing]]:
    """Return the recipients of each form. Two queries for all."""
    members = verified_members({form.organization_id for form in forms})
    consents = {(row.form_id, row.email): row for row in Recipient.objects.filter(form__in=forms)}
    return {
        form.pk: [
            _standing(
                address,
                consents.get((form.pk, address.lower())),
                is_member=is_member_of(form, address, members),
            )
            for address in form.notification_recipients
        ]
        for form in forms
    }


def is_member_of(form: Form, address: str, members: Mapping[tuple[uuid.UUID, str], Membership]) -> bool:
    """Return whether an address is that of a member who sees the form; others are strangers to it."""
    member = members.get((form.organization_id, address.lower()))
    return member is not None and SeenForms.of(member).includes(form.pk)


def _standing(address: str, consent: Recipient | None, *, is_member: bool) -> Standing:
    if consent is not None and consent.stopped_at is not None:
        return Standing(address, State.STOPPED)
    if is_member:
        return Standing(address, State.MEMBER)
    if consent is not None and consent.confirmed_at is not None:
        return Standing(address, State.CONFIRMED)
    if consent is None or consent.asked_at is None:
        return Standing(address, State.WAITING, can_be_asked=True)
    is_open = consent.asked_at + GOOD_FOR > now()
    return Standing(address, State.WAITING if is_open else State.EXPIRED, can_be_asked=True)


def unasked(form: Form) -> list[str]:
    """Return the addresses of a form that need to confirm and were never asked, in the order of their `mailbox_key`."""
    may = {address.lower() for address in mailable([form]).get(form.pk, [])}
    others = [address for address in form.notification_recipients if address.lower() not in may]
    known = Recipient.objects.filter(form=form, email__in=[address.lower() for address in others])
    asked = {row.email for row in known if row.asked_at is not None or row.stopped_at is not None}
    return sorted((address for address in others if address.lower() not in asked), key=mailbox_key)


class Questions:
    """The way to ask by mail. Mails are in an app above this one: its AppConfig sets it."""

    ask: ClassVar[Callable[[Form, str], None]]  # as `webhooks.mails.recipients.ask`


def ask_new_recipients(form: Form) -> None:
    """
    Ask the addresses that were never asked, all of them or none. Call it in the transaction that sets them.

    Raises AskedTooMany, after which the caller must not keep its change.
    """
    for address in unasked(form):
        Questions.ask(form, address)


def new_question(form: Form, address: str) -> str:
    """
    Note that an address is asked to confirm, and return the token of the link. An earlier link stops working.

    Call it in the transaction that queues the mail. Raises Conflict for an address that is not wanted, is confirmed or
    has stopped the mails, and if too many mails have asked it; AskedTooMany for too many in a day.
    """
    if address not in form.notification_recipients:
        raise Conflict(gettext("Save the address first."))
    # One after the other, so that the limits hold: forms are locked before organizations, and mailboxes last.
    Form.objects.select_for_update(no_key=True).get(pk=form.pk)
    Organization.objects.select_for_update(no_key=True).get(pk=form.organization_id)
    consent, _ = Recipient.objects.get_or_create(form=form, email=address.lower())
    _refuse_question(consent)
    count_question(form.organization_id, address)
    token = secrets.token_urlsafe(32)
    consent.digest, consent.asked_at, consent.asked_count = digest(token), now(), consent.asked_count + 1
    consent.save(update_fields=["digest", "asked_at", "asked_count"])
    _record(form, "form.recipient_asked", consent.email)
    return token


def _record(form: Form, action: str, email: str) -> None:
    record_event(organization=form.organization_id, action=action, subject=f"{form}: {email}")


def _refuse_question(consent: Recipient) -> None:
    if consent.stopped_at is not None:
        raise Conflict(
            gettext("This recipient has stopped the mails. Only they can start them again, by the link in a mail.")
        )
    if consent.confirmed_at is not None:
        raise Conflict(gettext("This address is confirmed already."))
    if consent.asked_count >= MOST_ASKED:
        text = gettext("This address was asked %(count)s times and has not confirmed.")
        raise Conflict(text % {"count": MOST_ASKED})
    if consent.asked_at is not None and consent.asked_at + ASK_AGAIN_AFTER > now():
        raise Conflict(gettext("This address was asked less than 10 minutes ago. Send it again later."))


def find_question(token: str) -> Recipient | None:
    """Return the recipient whose latest link has this token and is at most 7 days old, or None."""
    rows = Recipient.objects.select_related("form__organization")
    return rows.filter(digest=digest(token), asked_at__gt=now() - GOOD_FOR).first()


def confirm(recipient: Recipient) -> None:
    """Note that the address agrees to the mails; this also ends an earlier stop."""
    with transaction.atomic():
        Recipient.objects.filter(pk=recipient.pk).update(confirmed_at=now(), stopped_at=None)
        if recipient.confirmed_at is None or recipient.stopped_at is not None:
            _record(recipient.form, "form.recipient_confirmed", recipient.email)


def stop_url(form_id: str, address: str) -> str:
    """Return the address of the page on which a recipient stops a form's mails. `form_id`: as in the API."""
    return f"{settings.PUBLIC_URL}/mails/stop/{_stops().sign(f'{form_id}.{short_digest(address)}')}"


def short_digest(address: str) -> str:
    """Return what links in mails say of their recipient: it names nobody in a log."""
    return digest(address.lower())[:DIGEST_CHARACTERS]


def find_subscription(token: str) -> Recipient:
    """Return the recipient of a stop link, a new one if there is no row yet. Raises LinkInvalid."""
    try:
        form_id, _, wanted = _stops().unsign(token).partition(".")
        form = Form.objects.select_related("organization").get(pk=decode_id(Prefix.FORM, form_id))
    except (BadSignature, Form.DoesNotExist):
        raise LinkInvalid from None
    rows = {recipient.email: recipient for recipient in form.recipients.all()}
    for email in {address.lower() for address in form.notification_recipients} | set(rows):
        if short_digest(email) == wanted:
            return rows.get(email) or Recipient(form=form, email=email)
    raise LinkInvalid


def stop(recipient: Recipient) -> None:
    """Send this recipient nothing more about this form. Does nothing if it is stopped already."""
    recipient.stopped_at = now()
    with transaction.atomic():
        row, _ = Recipient.objects.get_or_create(form=recipient.form, email=recipient.email)
        if Recipient.objects.filter(pk=row.pk, stopped_at=None).update(stopped_at=recipient.stopped_at):
            _record(recipient.form, "form.recipient_stopped", recipient.email)


def resume(recipient: Recipient) -> None:
    """Undo a stop, by the recipient's own link. It confirms nothing."""
    recipient.stopped_at = None
    own = Recipient.objects.filter(form=recipient.form, email=recipient.email, stopped_at__isnull=False)
    with transaction.atomic():
        if own.update(stopped_at=None):
            _record(recipient.form, "form.recipient_resumed", recipient.email)


def stopped_among(pairs: Collection[tuple[uuid.UUID, str]]) -> set[tuple[uuid.UUID, str]]:
    """Return those of these forms and addresses, in lower case, whose recipient has stopped the mails."""
    rows = Recipient.objects.filter(
        form__in={form for form, _ in pairs}, email__in={email for _, email in pairs}, stopped_at__isnull=False
    )
    return set(rows.values_list("form_id", "email")) & set(pairs)
