"""
Mails about accounts: codes, and news about a password, an address or a second step.

They are rendered in the request and leave through the outbox, so that a slow mail server costs no web thread and a
crash loses none (docs/adr/0034).
"""

import datetime as dt
import logging
from collections.abc import Mapping
from typing import Any

from allauth.account import app_settings
from django.core.mail import EmailMessage
from django.http import HttpRequest

from config.api.ratelimit import count_burst
from config.base.times import now
from forms_app.consent.addresses import mailbox_of
from keys.branding.mail_html import html_of
from webhooks.enqueue import enqueue_mail
from webhooks.events import ACCOUNT_CODE, ACCOUNT_MAIL
from webhooks.payloads import RenderedMail

ANSWER_SECONDS = 3600  # "no account with this address": of no use a day later
MOST_ASKED = "20/d"  # mails that anybody can ask for, to one mailbox
ANSWERS = ("account/email/unknown_account", "account/email/account_already_exists")

logger = logging.getLogger(__name__)


def queue_account_mail(rendered: EmailMessage, template_prefix: str, to: str, context: Mapping[str, Any]) -> None:
    """
    Queue a mail that allauth has rendered, in the language that is active.

    `context`: has its `user`, None if no account has the address. One with a code is canceled when that is out of date.
    A mailbox gets 20 codes and answers to requests that anybody can send in a day; further ones are dropped.
    """
    seconds = lifetime_seconds(template_prefix, context)
    user = context["user"]
    # News have no lifetime, and are always sent. The page says the same in any case.
    if seconds is not None and count_burst(HttpRequest(), "asked-mails", mailbox_of(to), MOST_ASKED).is_over:
        logger.info("a mail about an account is not sent: its mailbox got too many today")
        return
    subject, body = str(rendered.subject), str(rendered.body)
    enqueue_mail(
        ACCOUNT_CODE if "code" in context else ACCOUNT_MAIL,
        RenderedMail(subject, body, html_of(subject, body, code=str(context.get("code", "")))),
        to,
        account_id=None if user is None else user.pk,
        expires_at=None if seconds is None else now() + dt.timedelta(seconds=seconds),
    )


def lifetime_seconds(template_prefix: str, context: Mapping[str, Any]) -> int | None:
    """Return for how long a mail is of use; None for news, which is sent however late."""
    if template_prefix == "account/email/password_reset_code":
        return int(app_settings.PASSWORD_RESET_BY_CODE_TIMEOUT)
    if "code" in context:
        return int(app_settings.EMAIL_VERIFICATION_BY_CODE_TIMEOUT)
    return ANSWER_SECONDS if template_prefix in ANSWERS else None
