"""Ending an organization or a person's account, as far as that is a thing of moments; the rest is for the operator."""

from collections.abc import Collection

from django.db import transaction

from config.api.errors import Conflict
from config.times import now
from forms_app.models import Form
from keys.audit import record_event
from keys.models import Membership, Organization, Role, User
from submissions.lifecycle.erasure import ERASED_AT_ONCE, finish_erasing
from submissions.models import Submission


def end_organization(organization: Organization, *, by: User) -> None:
    """
    Erase an organization with its forms, submissions, keys, webhooks and audit trail.

    Raises Conflict for more submissions than can be erased while somebody waits.
    """
    refuse_large(organization)
    organization.access_keys.filter(revoked_at=None).update(revoked_at=now())  # nothing arrives from here on
    for form in Form.objects.filter(organization=organization):
        finish_erasing(form)
    organization.delete()


def refuse_large(organization: Organization) -> None:
    """Raise Conflict when an organization holds more than can be erased at once."""
    held = Submission.objects.filter(organization=organization).order_by()[: ERASED_AT_ONCE + 1].count()
    if held > ERASED_AT_ONCE:
        raise Conflict(
            f"{organization.name} holds more than {ERASED_AT_ONCE:,} submissions. Archive and erase its forms first; "
            "large ones take up to an hour."
        )


def organizations_of(user: User) -> tuple[list[Organization], list[Organization]]:
    """Return the organizations that are a person's alone, and those that would be left without an owner."""
    owned = Organization.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    alone, orphaned = [], []
    for organization in owned.order_by("name"):
        others = Membership.objects.filter(organization=organization).exclude(user=user)
        if not others.exists():
            alone.append(organization)
        elif not others.filter(role=Role.OWNER).exists():
            orphaned.append(organization)
    return alone, orphaned


def delete_account(user: User, *, with_organizations: Collection[str]) -> None:
    """
    Delete a person, and the organizations that are theirs alone, each of which they have named by its slug.

    Raises Conflict while others would be left without an owner, for an organization that was not named or is too large.
    """
    alone, orphaned = organizations_of(user)
    if orphaned:
        names = ", ".join(organization.name for organization in orphaned)
        raise Conflict(f"You are the only owner of {names}. Make somebody else an owner there first.")
    for organization in alone:
        if organization.slug not in with_organizations:
            raise Conflict(f"{organization.name} is yours alone, and would go too. Say so, or make somebody its owner.")
        refuse_large(organization)
    for organization in alone:
        end_organization(organization, by=user)
    with transaction.atomic():
        for membership in user.memberships.select_related("organization"):
            record_event(organization=membership.organization, by=user, action="member.left", subject=user.email)
        user.delete()
