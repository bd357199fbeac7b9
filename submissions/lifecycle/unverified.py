"""People who signed up and never verified their address: gone after 7 days, with what sign-up made for them."""

import datetime as dt
import logging

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from config.base.times import now
from forms_app.models import Form
from keys.models import Membership, Organization, User
from submissions.lifecycle.closing import delete_organization
from submissions.models import Submission

KEPT = dt.timedelta(days=7)

logger = logging.getLogger(__name__)


def purge_unverified() -> int:
    """
    Delete people who never verified an address nor logged in, 7 days after sign-up; return how many.

    With them goes their organization if nobody used it. If somebody did, both are kept.
    """
    purged = 0
    for person in list(_unverified()):
        organizations = list(Organization.objects.filter(memberships__user=person))
        if all(_is_unused(organization) for organization in organizations):
            for organization in organizations:
                delete_organization(organization, by=None)
            person.delete()
            purged += 1
    if purged:
        logger.info("%s people who never verified their address are deleted", purged)
    return purged


def _unverified() -> QuerySet[User]:
    """Return those who signed up: people that a command created have no address to verify."""
    addresses = EmailAddress.objects.filter(user=OuterRef("pk"))
    people = User.objects.filter(date_joined__lt=now() - KEPT, last_login=None, is_staff=False, is_superuser=False)
    return people.filter(Exists(addresses), ~Exists(addresses.filter(verified=True)))


def _is_unused(organization: Organization) -> bool:
    """Return whether an organization has no trace of use: it is as sign-up made it, with one member."""
    return not (
        organization.plan != settings.DEFAULT_PLAN
        or organization.is_suspended
        or Membership.objects.filter(organization=organization).count() > 1
        or organization.access_keys.filter(last_used_at__isnull=False).exists()
        or Form.objects.filter(organization=organization).count() > 1
        or Submission.objects.filter(organization=organization).exists()
    )
