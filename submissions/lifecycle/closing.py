"""Delete an organization or an account synchronously, unless it is too large to do within a request."""

import datetime as dt
import logging
from collections.abc import Collection

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from config.api.errors import Conflict
from config.base.times import now
from forms_app.models import Form
from keys.audit import Actor, record_event
from keys.models import Membership, Organization, Role, User
from submissions.lifecycle.erasure import ERASED_IN_REQUEST, finish_erasing
from submissions.models import Submission

DELETION_DELAY = dt.timedelta(hours=1)  # between an operator's request and the deletion, to cancel it

logger = logging.getLogger(__name__)


def end_organization(organization: Organization, *, by: User) -> None:
    """
    Erase an organization with its forms, submissions, keys and webhooks. Operators keep its audit trail.

    Raises Conflict for more submissions than can be erased within a request.
    """
    refuse_to_end(organization)
    delete_organization(organization, by=by)


def delete_organization(organization: Organization, *, by: Actor) -> None:
    """
    Delete an organization of any size, in batches. If it is interrupted, a second call continues.

    The log keeps who did it.
    """
    organization.access_keys.filter(revoked_at=None).update(revoked_at=now())  # nothing arrives from here on
    for form in Form.objects.filter(organization=organization).defer("fields"):
        finish_erasing(form)
    pk, slug = organization.pk, organization.slug
    with transaction.atomic():
        subject = f"{organization.name} ({slug})"
        record_event(organization=organization, by=by, action="organization.deleted", subject=subject)
        organization.delete()
    logger.info("organization %s (%s) erased by %s", slug, pk, f"user {by.pk}" if by else "an operator")


def finish_all_deleting() -> int:
    """Delete the organizations whose deletion operators requested an hour ago or earlier; return how many."""
    asked = list(Organization.objects.filter(deletion_requested_at__lt=now() - DELETION_DELAY))
    for organization in asked:
        delete_organization(organization, by=None)
    return len(asked)


def refuse_to_end(organization: Organization) -> None:
    """Raise Conflict if an organization is suspended, or has too many submissions to be erased within a request."""
    if organization.is_suspended:
        raise Conflict(
            gettext("%(name)s is suspended and cannot be deleted now. Contact the operator of this service.")
            % {"name": organization.name}
        )
    held = Submission.objects.filter(organization=organization).order_by()[: ERASED_IN_REQUEST + 1].count()
    if held > ERASED_IN_REQUEST:
        raise Conflict(
            gettext(
                "%(name)s has more than %(most)s submissions. Archive and erase its forms first; large ones take up "
                "to an hour."
            )
            % {"name": organization.name, "most": f"{ERASED_IN_REQUEST:,}"}
        )


def organizations_of(user: User) -> tuple[list[Organization], list[Organization]]:
    """Return the organizations of which a user is the only member, and those that would be left without an owner."""
    owned = Organization.objects.filter(memberships__user=user, memberships__role=Role.OWNER)
    own, orphaned = [], []
    for organization in owned.order_by("name"):
        others = Membership.objects.filter(organization=organization).exclude(user=user)
        if not others.exists():
            own.append(organization)
        elif not others.filter(role=Role.OWNER).exists():
            orphaned.append(organization)
    return own, orphaned


def delete_account(user: User, *, with_organizations: Collection[str]) -> None:
    """
    Delete a user, and the organizations of which they are the only member; each must be named by its slug.

    Raises Conflict if others would be left without an owner, or if an organization was not named or is too large.
    """
    own = _ending_with(user, with_organizations)
    for organization in own:
        refuse_to_end(organization)
    for organization in own:
        end_organization(organization, by=user)
    pk = user.pk
    try:
        _delete(user)
    except IntegrityError:  # a mail to the user was recorded after Django had looked for what to delete
        user.pk = pk
        _delete(user)


def _delete(user: User) -> None:
    with transaction.atomic():
        _lock_members(user)
        _ending_with(user, ())  # another owner may have left meanwhile
        for membership in user.memberships.select_related("organization"):
            record_event(organization=membership.organization, by=user, action="member.left", subject=user.email)
        record_event(organization=None, by=user, action="account.deleted", subject=user.email)
        user.delete()


def _lock_members(user: User) -> None:
    """Lock all members of a user's organizations, as every change of members does, in the order of their keys."""
    organizations = list(user.memberships.values_list("organization_id", flat=True))
    list(Membership.objects.select_for_update().filter(organization__in=organizations).order_by("pk"))


def _ending_with(user: User, named: Collection[str]) -> list[Organization]:
    """Return the organizations that end with an account. Raises Conflict as `delete_account` does."""
    own, orphaned = organizations_of(user)
    if orphaned:
        names = ", ".join(organization.name for organization in orphaned)
        text = gettext("You are the only owner of %(names)s. Make somebody else an owner first.")
        raise Conflict(text % {"names": names})
    for organization in own:
        if organization.slug not in named:
            raise Conflict(
                gettext(
                    "You are the only member of %(name)s, which would be deleted too. Confirm that, or make somebody "
                    "else its owner."
                )
                % {"name": organization.name}
            )
    return own
