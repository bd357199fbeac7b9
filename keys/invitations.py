"""Invitations by mail. Only the mail has the token of the link; the database has its hash."""

import datetime as dt
import secrets
import uuid
from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import Exists, QuerySet
from django.utils.translation import gettext

from config.api.errors import Conflict, Forbidden, invalid
from config.base.times import now
from keys.audit import record_event
from keys.members import MANAGERS_SEE_ALL, as_stored, create_person, may_give, sees_chosen_forms
from keys.models import AuditEvent, Invitation, Membership, Organization, Role, User
from keys.tokens import digest

GOOD_FOR = dt.timedelta(days=7)
SHOWN_FOR = dt.timedelta(days=30)  # after they expired: admins see that nobody came, and send them again
MOST_OPEN = 50  # open invitations per organization, so that nobody uses them to mail strangers
MOST_A_DAY = 100  # invitation mails per person, over all organizations, including repeats
INVITED = "member.invited"  # action in the audit trail


def invite(
    *,
    organization: Organization,
    email: str,
    role: Role,
    by: User | None,
    form_ids: Collection[uuid.UUID] | None = None,
) -> tuple[Invitation, str]:
    """
    Invite a person and return the invitation with the token of its link. A second one replaces the first.

    `by`: None for a command; its invitation makes an account also where SIGN_UP is closed. `form_ids`: the only forms
    of the organization that the person will see; None: all.

    Raises ValidationFailed for an invalid address, Conflict for a member, for too many invitations, and for chosen
    forms of a role that sees all, Forbidden if an admin invites an owner.
    """
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        message = gettext("%(email)s is not an email address.") % {"email": email[:100]}
        raise invalid("email", "invalid_email", message, has_subject=True) from None
    if form_ids is not None and not sees_chosen_forms(role):
        raise Conflict(gettext(MANAGERS_SEE_ALL))
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        members = Membership.objects.select_for_update().filter(organization=organization).order_by("pk")
        roles = dict(members.values_list("user_id", "role"))  # locked, so that limits hold for concurrent invitations
        if by is not None and not may_give(roles.get(by.pk, ""), role):
            raise Forbidden(gettext("Only an owner can invite an owner."))
        if User.objects.filter(email=email, pk__in=list(roles)).exists():
            raise Conflict(gettext("%(email)s is already a member.") % {"email": email})
        _refuse_too_many(organization, email, by)
        values = {
            "role": role,
            "form_ids": as_stored(form_ids),
            "digest": digest(token),
            "invited_by": by,
            "makes_account": by is None,
        }
        invitation, _ = Invitation.objects.update_or_create(
            organization=organization,
            email=email,
            defaults={**values, "created_at": now(), "expires_at": now() + GOOD_FOR},
        )
        subject = f"{email} as {role.value}"
        record_event(organization=organization, by=by, action=INVITED, subject=subject)
    return invitation, token


def _refuse_too_many(organization: Organization, email: str, by: User | None) -> None:
    others = Invitation.objects.filter(organization=organization, expires_at__gt=now()).exclude(email=email)
    if others.count() >= MOST_OPEN:
        raise Conflict(
            gettext("At most %(most)s invitations can be open. Revoke some that are no longer needed.")
            % {"most": MOST_OPEN}
        )
    yesterday = now() - dt.timedelta(days=1)
    if (
        by is not None
        and AuditEvent.objects.filter(user=by, action=INVITED, created_at__gt=yesterday).count() >= MOST_A_DAY
    ):
        raise Conflict(
            gettext("You have sent %(most)s invitations within a day. Try again tomorrow.") % {"most": MOST_A_DAY}
        )


def find_invitation(token: str) -> Invitation | None:
    """Return the open invitation with this token, or None."""
    found = Invitation.objects.select_related("organization", "invited_by").filter(digest=digest(token)).first()
    return found if found is not None and found.is_open else None


def invitations_to(user: User) -> QuerySet[Invitation]:
    """Return the open invitations to a person's address, oldest first; none before the address is verified."""
    verified = User.objects.filter(pk=user.pk, emailaddress__verified=True, emailaddress__email__iexact=user.email)
    found = Invitation.objects.filter(Exists(verified), email=user.email, expires_at__gt=now())
    return found.select_related("organization", "invited_by").order_by("created_at", "pk")


def accept_invitation(invitation: Invitation, user: User) -> Membership:
    """Make the invited person a member. Raises Forbidden for another address, Conflict for a revoked invitation."""
    if user.email != invitation.email:
        raise Forbidden(gettext("This invitation is for %(email)s.") % {"email": invitation.email})
    with transaction.atomic():
        deleted, _ = Invitation.objects.filter(pk=invitation.pk, digest=invitation.digest).delete()
        if not deleted:
            raise Conflict(gettext("This invitation was accepted or revoked in the meantime."))
        membership, is_new = Membership.objects.get_or_create(
            organization=invitation.organization,
            user=user,
            defaults={"role": invitation.role, "form_ids": invitation.form_ids},
        )
        if is_new:
            subject = f"{user.email} as {membership.role}"
            record_event(organization=invitation.organization, by=user, action="member.joined", subject=subject)
    return membership


def join_as_new_person(invitation: Invitation, *, name: str, password: str | None = None, language: str = "") -> User:
    """
    Create the account of an invited person, who has proven the address, and make them a member.

    Raises Conflict if the address has an account by now, or the invitation was revoked; nothing is created then.
    """
    try:
        with transaction.atomic():
            user = create_person(invitation.email, name=name, password=password, language=language)
            accept_invitation(invitation, user)
    except IntegrityError:
        raise Conflict(gettext("%(email)s has an account. Log in to join.") % {"email": invitation.email}) from None
    return user


def decline_invitation(invitation: Invitation, user: User) -> None:
    """Delete an invitation that its receiver does not want. A newer one to the same address stays."""
    _end(invitation, by=user, action="invitation.declined", digest=invitation.digest)


def revoke_invitation(invitation: Invitation, *, by: User) -> None:
    _end(invitation, by=by, action="invitation.revoked")


def _end(invitation: Invitation, *, by: User, action: str, **unchanged: str) -> None:
    with transaction.atomic():
        if Invitation.objects.filter(pk=invitation.pk, **unchanged).delete()[0]:
            record_event(organization=invitation.organization, by=by, action=action, subject=invitation.email)


def purge_invitations() -> None:
    Invitation.objects.filter(expires_at__lt=now() - SHOWN_FOR).delete()
