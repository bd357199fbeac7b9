"""The mails to submitters of test submissions: never sent, and kept in the log (docs/contract.md 12.6)."""

from django.db.models.functions import Now

from config.base.times import now
from submissions.models import Submission
from webhooks.enqueue import MAIL
from webhooks.events import Event
from webhooks.models import Attempt, Delivery, ErrorClass, Message
from webhooks.payloads import RenderedMail
from webhooks.transport import smtp


def record_mail(event: Event, mail: RenderedMail, to: str, submission: Submission, *, is_refused: bool) -> None:
    """
    Store a mail to the submitter of a test, with its text, as recorded; `is_refused`: as refused by the mail server.

    Its link is that of a test, so it is no secret. Runs inside the caller's transaction.
    """
    message, is_new = Message.objects.get_or_create(event=event.name, submission=submission)
    if not is_new:
        return
    delivery = Delivery.objects.create(
        organization_id=submission.organization_id,
        message=message,
        submission=submission,
        event=event.name,
        channel=MAIL,
        target=to,
        status=Delivery.Status.FAILED if is_refused else Delivery.Status.RECORDED,
        finished_at=Now(),
    )
    written = smtp.Mail(
        to=to,
        subject=mail.subject,
        text=mail.text,
        html=mail.html,
        reply_to=mail.reply_to,
        message_id=smtp.message_id_for(delivery.public_id),
        stop_url=mail.stop_url,
        is_reply=mail.is_reply,
        sender=mail.sender,
    )
    error = ErrorClass.MAIL_REFUSED if is_refused else ""
    request = smtp.logged_mail(written)
    Attempt.objects.create(delivery=delivery, started_at=now(), duration_ms=0, request=request, error=error)
