"""The mail with an invitation. It leaves through the outbox, with the link encrypted (docs/adr/0034)."""

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string

from config.text import name_for_strangers
from keys.invitations import invite
from keys.models import Invitation, Organization, Role, User
from webhooks.enqueue import enqueue_mail
from webhooks.events import INVITATION
from webhooks.payloads import RenderedMail


def invite_by_mail(organization: Organization, email: str, role: Role, *, by: User) -> Invitation:
    """Invite a person and queue the mail, in one transaction. Raises what `invite` raises."""
    with transaction.atomic():
        invitation, token = invite(organization=organization, email=email, role=role, by=by)
        expires_at = invitation.expires_at
        mail = _rendered(invitation, token)
        enqueue_mail(INVITATION, mail, invitation.email, organization_id=organization.pk, expires_at=expires_at)
    return invitation


def _rendered(invitation: Invitation, token: str) -> RenderedMail:
    organization = name_for_strangers(invitation.organization.name, "an organization")
    context = {
        "invitation": invitation,
        "organization": organization,
        "link": f"{settings.PUBLIC_URL}/dashboard/invitations/{token}",
    }
    inviter = invitation.invited_by.email if invitation.invited_by else "Somebody"
    return RenderedMail(
        f"{inviter} invites you to {organization}",
        render_to_string("mail/invitation.txt", context),
        render_to_string("mail/invitation.html", context),
    )
