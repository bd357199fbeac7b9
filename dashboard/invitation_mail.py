"""The mail with an invitation. It leaves through the outbox, with the link encrypted (docs/adr/0034)."""

import uuid
from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext, pgettext_lazy

from config.base.text import name_for_strangers
from keys.invitations import invite
from keys.models import Invitation, Organization, Role, User
from keys.notices import mail_language
from webhooks.enqueue import enqueue_mail
from webhooks.events import INVITATION
from webhooks.payloads import RenderedMail

ROLES = {
    Role.OWNER: pgettext_lazy("as …, in a sentence", "owner"),
    Role.ADMIN: pgettext_lazy("as …, in a sentence", "admin"),
    Role.MEMBER: pgettext_lazy("as …, in a sentence", "member"),
    Role.VIEWER: pgettext_lazy("as …, in a sentence", "viewer"),
}


def invite_by_mail(
    organization: Organization, email: str, role: Role, *, by: User, form_ids: Collection[uuid.UUID] | None = None
) -> Invitation:
    """Invite a person and queue the mail, in one transaction. Raises what `invite` raises."""
    with transaction.atomic():
        invitation, token = invite(organization=organization, email=email, role=role, by=by, form_ids=form_ids)
        expires_at = invitation.expires_at
        with translation.override(mail_language([by])):
            mail = _rendered(invitation, token)
        enqueue_mail(INVITATION, mail, invitation.email, organization_id=organization.pk, expires_at=expires_at)
    return invitation


def invitation_link(token: str) -> str:
    """Return the address of the page on which an invited person joins."""
    return f"{settings.PUBLIC_URL}/dashboard/invitations/{token}"


def _rendered(invitation: Invitation, token: str) -> RenderedMail:
    organization = name_for_strangers(invitation.organization.name, gettext("an organization"))
    context = {
        "inviter": invitation.invited_by.email if invitation.invited_by else "",
        "role": ROLES[Role(invitation.role)],
        "organization": organization,
        "link": invitation_link(token),
        "takes_new_people": invitation.takes_new_people,
    }
    inviter = context["inviter"] or gettext("Somebody")
    return RenderedMail(
        gettext("%(inviter)s invites you to %(organization)s") % {"inviter": inviter, "organization": organization},
        render_to_string("mail/invitation.txt", context),
        render_to_string("mail/invitation.html", context),
    )
