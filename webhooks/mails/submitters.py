"""
Mails to submitters: replies, and questions for confirmation (docs/contract.md 9, docs/adr/0092).

Submissions ask for them by rows. One transaction decides about a row and queues its mail, or notes why none goes, with
its organization locked: two at the same time cannot pass a cap together.
"""

import datetime as dt
import hashlib
import uuid
from collections.abc import Iterable
from email.utils import parseaddr
from typing import TypeAlias

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy

from config.api.errors import Conflict
from config.api.ratelimit import take_share
from config.base.database import database_now
from config.base.ids import new_id
from config.base.text import name_for_strangers
from config.base.times import format_time, now
from forms_app.consent.addresses import is_of_a_program, is_single_address, mailbox_digest, mailbox_of
from forms_app.consent.opt_outs import opt_out_url, opted_out_among
from forms_app.consent.recipients import mailable
from forms_app.models import Form
from forms_app.snippets import test_values
from forms_app.texts.replies import Filled, Reply, confirmation_lines, email_fields, fill_reply, name_for_submitters
from keys.models import Organization
from keys.notices import notify_owners
from keys.plans import Plan
from submissions.confirmations import KEPT_UNCONFIRMED
from submissions.lifecycle.confirmation import new_token
from submissions.mode import BOUNCE
from submissions.models import Consent, Submission, SubmitterMail
from webhooks.enqueue import enqueue_mail
from webhooks.events import CONFIRMATION_ASKED, REPLY, TO_SUBMITTERS, Event
from webhooks.mails.recipients import shown_organization_name
from webhooks.mails.recorded import record_mail
from webhooks.payloads import RenderedMail

ROWS_A_BATCH = 50
PER_FORM_AND_ADDRESS = 1  # mails in a day
PER_ORGANIZATION_AND_ADDRESS = 3  # mails in a day
PER_FORM = 20  # mails in an hour
DAY, HOUR = dt.timedelta(days=1), dt.timedelta(hours=1)
REPLY_WAITS = dt.timedelta(days=3)  # for the mail server; a later answer would only confuse
Kind: TypeAlias = SubmitterMail.Kind
Refusal: TypeAlias = SubmitterMail.Refusal
EVENT_OF = {Kind.REPLY: REPLY, Kind.CONFIRMATION: CONFIRMATION_ASKED}


def undecided_mails() -> QuerySet[SubmitterMail]:
    """Return the mails that submissions ask for, and that nothing was decided about yet."""
    return SubmitterMail.objects.filter(decided_at=None)


def decide_some(waiting: QuerySet[SubmitterMail]) -> int:
    """Decide about some of the oldest mails and return how many. Locks submissions, then their mails, then the rest."""
    asked = dict(waiting.values_list("pk", "submission_id")[:ROWS_A_BATCH])
    with transaction.atomic():
        gone = [pk for pk, submission in asked.items() if submission is None]
        SubmitterMail.objects.filter(pk__in=gone).delete()  # of submissions that were deleted before
        found = Submission.objects.filter(pk__in=[one for one in asked.values() if one]).order_by("pk")
        locked = {row.pk: row for row in found.select_for_update(skip_locked=True, no_key=True)}
        mails = SubmitterMail.objects.filter(pk__in=asked, submission__in=locked, decided_at=None).order_by("pk")
        rows = list(mails.select_for_update(no_key=True))
        owners = Organization.objects.filter(pk__in={row.organization_id for row in rows}).order_by("pk")
        organizations = {owner.pk: owner for owner in owners.select_for_update(no_key=True)}
        forms = Form.objects.in_bulk({row.form_id for row in rows})
        for mail in rows:
            submission = locked[mail.submission_id] if mail.submission_id else None
            form = forms.get(mail.form_id)
            if submission is not None and form is not None:
                form.organization = organizations[mail.organization_id]
                submission.form = form
                _decide(mail, submission)
        return len(rows) + len(gone)


def _decide(mail: SubmitterMail, submission: Submission) -> None:
    """Queue a mail, or note why none goes."""
    address = address_of(submission)
    mail.refusal = _refusal(mail, submission, address)
    if submission.is_test and not mail.refusal:
        _queue(Kind(mail.kind), submission, address)
        mail.refusal = Refusal.TEST
    if not mail.refusal:
        mail.mailbox = mailbox_digest("submitters", address)
        mail.refusal = _over_cap(mail)
    if not mail.refusal:
        _queue(Kind(mail.kind), submission, address)
    SubmitterMail.objects.filter(pk=mail.pk).update(mailbox=mail.mailbox, refusal=mail.refusal, decided_at=Now())


def address_of(submission: Submission) -> str:
    """Return the value of the form's first Email field that has one; "" without."""
    values = (submission.data.get(name, "").strip() for name in email_fields(submission.form.fields))
    return next((value for value in values if value), "")


def _refusal(mail: SubmitterMail, submission: Submission, address: str) -> Refusal:
    """Return why no mail may go, whatever was sent before."""
    form = submission.form
    if submission.spam:
        return Refusal.SPAM
    if mail.kind == Kind.REPLY and not Reply.of(form.reply).enabled:
        return Refusal.OFF
    if mail.kind == Kind.CONFIRMATION and not submission.awaits_confirmation:
        return Refusal.OFF
    if Submission.HUMAN not in submission.controls:
        return Refusal.NO_CHECK
    if not address:
        return Refusal.NO_ADDRESS
    if not is_single_address(address):
        return Refusal.BAD_ADDRESS
    own = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]  # an answer to it would be answered by whatever reads it
    is_asked_to_fail = submission.is_test and address.lower() == BOUNCE  # which looks like that of a program
    if mailbox_of(address) == mailbox_of(own) or (is_of_a_program(address) and not is_asked_to_fail):
        return Refusal.PROGRAM
    if opted_out_among([(mail.organization_id, mailbox_of(address))]):
        return Refusal.OPTED_OUT
    return Refusal.NO


def _over_cap(mail: SubmitterMail) -> Refusal:
    """Return the cap that a mail would exceed. Its organization is locked."""
    moment = database_now()
    sent = SubmitterMail.objects.filter(refusal=Refusal.NO, decided_at__isnull=False)
    # A submitter who has just confirmed gets the reply: the question about the same submission is no reason against it.
    to_mailbox = sent.filter(mailbox=mail.mailbox, decided_at__gt=moment - DAY)
    of_others = to_mailbox.filter(~Q(submission=mail.submission_id) | Q(submission=None), form=mail.form_id)
    if of_others.count() >= PER_FORM_AND_ADDRESS:
        return Refusal.FORM_AND_ADDRESS
    if to_mailbox.filter(organization=mail.organization_id).count() >= PER_ORGANIZATION_AND_ADDRESS:
        return Refusal.ORGANIZATION_AND_ADDRESS
    if sent.filter(form=mail.form_id, decided_at__gt=moment - HOUR).count() >= PER_FORM:
        return Refusal.FORM
    return Refusal.NO


def _queue(kind: Kind, submission: Submission, address: str) -> None:
    form = submission.form
    with translation.override(form.language):
        if kind is Kind.REPLY:
            filled = fill(form, submission, confirmed=confirmed_address(submission, address))
            mail, kept = render_reply(form, filled, address), REPLY_WAITS
            if filled.is_cut and not submission.is_test:
                _report_cut(form)
        else:
            mail, kept = _question(submission, address), KEPT_UNCONFIRMED
    if submission.is_test:
        record_mail(EVENT_OF[kind], mail, address, submission, is_refused=address.lower() == BOUNCE)
        return
    enqueue_mail(
        EVENT_OF[kind],
        mail,
        address,
        organization_id=form.organization_id,
        expires_at=database_now() + kept,
        key=_key(EVENT_OF[kind], submission.pk),
    )


def _report_cut(form: Form) -> None:
    """Mail the owners that a reply went without its links, once for a form."""
    # Skipped while somebody changes the form: others lock it before the organization. The next reply reports it.
    unreported = Form.objects.filter(pk=form.pk, reply_cut_at=None)
    if unreported.select_for_update(skip_locked=True, no_key=True).values_list("pk"):
        unreported.update(reply_cut_at=Now())
        notify_owners(
            form.organization,
            "reply.cut",
            subject=gettext_lazy("A reply of %(form)s was sent without its links"),
            text=gettext_lazy(
                "On the Free plan, web addresses are left out of replies to people who have not confirmed their "
                "address, and a reply of this form has some. Turn on confirmation for the form, or take them out of "
                "the reply. On other plans they are sent as you wrote them."
            ),
            values={"form": form.name},
        )


def _key(event: Event, submission: uuid.UUID) -> str:
    return f"{event.name}:{submission}"


def delivery_keys(submissions: Iterable[uuid.UUID]) -> list[str]:
    """Return the keys of all deliveries to the submitters of these submissions."""
    return [_key(event, pk) for pk in submissions for event in TO_SUBMITTERS]


def confirmed_address(submission: Submission, address: str) -> str:
    """
    Return the address of a submission's mail if its submitter has confirmed it; "" otherwise.

    They may have confirmed another one, if the form's Email fields have changed since the question.
    """
    own = Consent.objects.filter(submission=submission.pk, email=address, confirmed_at__isnull=False)
    return address if own.exists() else ""


def fill(form: Form, submission: Submission, *, confirmed: str, reply: Reply | None = None) -> Filled:
    """
    Return the texts of a form's reply to a submission.

    `confirmed`: the address that its submitter has confirmed, or "". `reply`: another one than the stored.
    """
    others = {
        "form.name": form.name,
        "submission.id": submission.public_id,
        "submission.createdAt": format_time(submission.created_at) or "",
    }
    return fill_reply(
        Reply.of(form.reply) if reply is None else reply,
        fields=form.fields,
        data=submission.data,
        others=others,
        confirmed=confirmed,
        may_link=form.organization.plan != Plan.FREE,
    )


def send_test_reply(form: Form, address: str) -> None:
    """
    Queue a form's reply to an example submission, to one of the organization's members. It counts for no cap.

    Raises Conflict for a form without a reply, and RateLimited after an organization's TEST_MAILS.
    """
    if not Reply.of(form.reply).text:
        raise Conflict(gettext("Save a reply first."))
    take_share("test-mail", form.organization_id, settings.TEST_MAILS)
    example = Submission(id=new_id(), form=form, data=test_values(form), created_at=now())
    with translation.override(form.language):
        confirmed = address_of(example) if form.confirmation else ""
        mail = render_reply(form, fill(form, example, confirmed=confirmed), address)
    enqueue_mail(REPLY, mail, address, organization_id=form.organization_id, expires_at=database_now() + REPLY_WAITS)


def render_reply(form: Form, filled: Filled, address: str) -> RenderedMail:
    """Return the mail of a reply. It says who sends it and why, and how to end such mails."""
    context = {
        "subject": filled.subject,
        "text": filled.text,
        "organization_name": shown_organization_name(form),
        **_frame(form, address),
    }
    subject = filled.subject or gettext("Your message to %(organization)s") % {
        "organization": shown_organization_name(form)
    }
    return _rendered(form, subject, "mail/reply", context)


def _question(submission: Submission, address: str) -> RenderedMail:
    """Return the mail that asks for confirmation, and write the record of the question."""
    form = submission.form
    lines = confirmation_lines(name_for_submitters(form.name), shown_organization_name(form), address)
    subject = gettext("Confirm what you sent to %(organization)s") % {"organization": shown_organization_name(form)}
    text = "\n".join([subject, *lines])
    token, digest = new_token()
    Consent.objects.filter(submission=submission.pk).update(
        email=address,
        digest=digest,
        text=text,
        text_sha256=hashlib.sha256(text.encode()).hexdigest(),
        asked_at=Now(),
    )
    context = {
        "lines": lines,
        "link": f"{settings.PAGES_URL or settings.PUBLIC_URL}/f/confirm/{token}",
        "days": KEPT_UNCONFIRMED.days,
        **_frame(form, address),
    }
    return _rendered(form, subject, "mail/confirm_submission", context)


def _frame(form: Form, address: str) -> dict[str, object]:
    return {
        "brand": form.brand,
        "pages_url": settings.PAGES_URL or settings.PUBLIC_URL,
        "form_name": name_for_submitters(form.name),
        "stop_url": opt_out_url(form.organization_id, address, form.language),
    }


def _rendered(form: Form, subject: str, template: str, context: dict[str, object]) -> RenderedMail:
    answers_go = form.reply_to and form.reply_to in mailable([form])[form.pk]  # while that recipient gets mails
    return RenderedMail(
        subject,
        render_to_string(f"{template}.txt", context),
        render_to_string(f"{template}.html", {"subject": subject, **context}),
        stop_url=str(context["stop_url"]),
        is_reply=True,
        sender=name_for_strangers(form.sender_name, ""),
        reply_to=form.reply_to if answers_go else "",
    )
