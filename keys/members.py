"""Members of an organization: add, change roles, remove, leave. An organization always has an owner."""

import uuid
from collections.abc import Collection

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict, Forbidden
from config.base.ids import Prefix, encode_id
from keys.audit import record_event
from keys.audit.changes import changes
from keys.models import Membership, Organization, Role, User

MANAGERS_SEE_ALL = gettext_noop("Owners and admins see every form. Change the role first.")
LAST_OWNER = gettext_noop("An organization needs an owner. Make another member an owner first.")


def may_give(by: str, role: str) -> bool:
    """Return whether a member with the role `by` may give or take `role`: owners every one, admins all but owner."""
    return by == Role.OWNER or (by == Role.ADMIN and role != Role.OWNER)


def create_person(email: str, *, name: str, password: str | None = None, language: str = "") -> User:
    """Create the account of a person who has proven the address. Raises IntegrityError if it has one."""
    user = User.objects.create_user(email, password, name=name, language=language)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def add_new_person(organization: Organization, *, email: str, name: str, role: Role, language: str) -> User:
    """Create the account of a person who has proven the address, and make them a member. Raises as `create_person`."""
    with transaction.atomic():
        user = create_person(email, name=name, language=language)
        Membership.objects.create(organization=organization, user=user, role=role)
        record_event(organization=organization, by=user, action="member.joined", subject=f"{email} as {role.value}")
    return user


def change_role(membership: Membership, role: Role, *, by: User) -> None:
    """
    Change the role of a member.

    Raises Forbidden if an admin adds an owner or changes one, Conflict if the organization would have no owner.
    """
    with transaction.atomic():
        membership, actor = _locked(membership, by)
        if not (may_give(actor.role, role) and may_give(actor.role, membership.role)):
            raise Forbidden(gettext("Only an owner can add an owner or change an owner's role."))
        if membership.role == Role.OWNER and role != Role.OWNER:
            _refuse_last_owner(membership)
        if membership.role == role:
            return
        found = changes({"role": membership.role}, {"role": str(role)})
        membership.role = role
        if not sees_chosen_forms(role):
            membership.form_ids = None
        membership.save(update_fields=["role", "form_ids"])
        subject = f"{membership.user.email} is now {role.value}"
        record_event(
            organization=membership.organization,
            by=by,
            action="member.role_changed",
            subject=subject,
            changes=found,
        )


def sees_chosen_forms(role: str) -> bool:
    """Return whether members with this role may be limited to chosen forms: owners and admins see every one."""
    return role in (Role.MEMBER, Role.VIEWER)


def change_seen_forms(membership: Membership, form_ids: Collection[uuid.UUID] | None, *, by: User) -> None:
    """
    Limit a member to these forms of the organization, or (None) let them see all.

    Raises Forbidden unless `by` may change the member, Conflict for owners and admins, who see every form.
    """
    with transaction.atomic():
        membership, actor = _locked(membership, by)
        if not may_give(actor.role, membership.role):
            raise Forbidden(gettext("Only owners and admins choose the forms that others see."))
        if not sees_chosen_forms(membership.role):
            raise Conflict(gettext(MANAGERS_SEE_ALL))
        chosen = as_stored(form_ids)
        if membership.form_ids == chosen:
            return
        found = changes({"forms": _shown(membership.form_ids)}, {"forms": _shown(chosen)})
        membership.form_ids = chosen
        membership.save(update_fields=["form_ids"])
        subject = membership.user.email
        record_event(
            organization=membership.organization, by=by, action="member.forms_changed", subject=subject, changes=found
        )


def as_stored(form_ids: Collection[uuid.UUID] | None) -> list[str] | None:
    return None if form_ids is None else sorted(map(str, form_ids))


def _shown(chosen: list[str] | None) -> list[str] | None:
    return None if chosen is None else [encode_id(Prefix.FORM, uuid.UUID(one)) for one in chosen]


def remove_member(membership: Membership, *, by: User) -> None:
    """Remove a member from the organization. Raises Forbidden and Conflict as `change_role` does."""
    with transaction.atomic():
        membership, actor = _locked(membership, by)
        if not may_give(actor.role, membership.role):
            raise Forbidden(gettext("Only an owner can remove an owner."))
        _take_out(membership, by=by, action="member.removed")


def leave_organization(organization: Organization, user: User) -> None:
    """Remove the user from the organization. Raises Conflict for the last owner."""
    with transaction.atomic():
        membership, _ = _locked(Membership.objects.get(organization=organization, user=user), user)
        _take_out(membership, by=user, action="member.left")


def _take_out(membership: Membership, *, by: User, action: str) -> None:
    if membership.role == Role.OWNER:
        _refuse_last_owner(membership)
    record_event(organization=membership.organization, by=by, action=action, subject=membership.user.email)
    membership.delete()


def _locked(membership: Membership, by: User) -> tuple[Membership, Membership]:
    """Return the membership and the actor's. Locks all members, so that two owners cannot both step down."""
    rows = Membership.objects.select_for_update().filter(organization=membership.organization_id)
    everybody = {row.user_id: row for row in rows.select_related("user", "organization").order_by("pk")}
    if membership.user_id not in everybody or by.pk not in everybody:
        raise Conflict(gettext("The members have changed in the meantime. Reload the list."))
    return everybody[membership.user_id], everybody[by.pk]


def _refuse_last_owner(membership: Membership) -> None:
    owners = Membership.objects.filter(organization=membership.organization_id, role=Role.OWNER)
    if not owners.exclude(pk=membership.pk).exists():
        raise Conflict(gettext(LAST_OWNER))


def verified_members(organizations: Collection[uuid.UUID]) -> dict[tuple[uuid.UUID, str], Membership]:
    """Return the active members of these organizations by organization and verified address, in lower case."""
    rows = Membership.objects.filter(
        organization__in=organizations, user__is_active=True, user__emailaddress__verified=True
    )
    found = rows.annotate(email=F("user__emailaddress__email"))
    return {(row.organization_id, row.email.lower()): row for row in found}
