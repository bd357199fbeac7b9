"""Mails that the dashboard sends itself, at once: a person waits for them, and can ask again."""

import logging

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from keys.models import Invitation

logger = logging.getLogger(__name__)


def send_invitation(invitation: Invitation, token: str) -> bool:
    """Mail the link of an invitation; tell whether the mail server took it."""
    context = {"invitation": invitation, "link": f"{settings.PUBLIC_URL}/dashboard/invitations/{token}"}
    inviter = invitation.invited_by.email if invitation.invited_by else "Somebody"
    subject = " ".join(f"{inviter} invites you to {invitation.organization.name}".split())[:200]
    mail = EmailMultiAlternatives(subject, render_to_string("mail/invitation.txt", context), to=[invitation.email])
    mail.attach_alternative(render_to_string("mail/invitation.html", context), "text/html")
    try:
        mail.send()
    except OSError as error:  # SMTPException is one
        logger.warning("an invitation could not be mailed: %s", error)
        return False
    return True
