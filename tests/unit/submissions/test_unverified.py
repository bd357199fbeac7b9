"""People who never verified their address are deleted after 7 days, unless somebody used what they made."""

import datetime as dt
import secrets

import pytest
from allauth.account.models import EmailAddress

from config.base.times import now
from forms_app.models import Form
from forms_app.sign_up import create_organization
from keys.models import Membership, Organization, User
from submissions.lifecycle.unverified import purge_unverified
from tests.unit.webhooks.rows import make_submission

pytestmark = pytest.mark.django_db
OLD = dt.timedelta(days=7, minutes=1)


def signed_up(ago: dt.timedelta = OLD, *, verified: bool = False) -> tuple[User, Organization]:
    """Return a person as sign-up makes them, so long ago, with their organization."""
    person = User.objects.create_user(f"{secrets.token_hex(8)}@example.com", "a long and quiet password")
    User.objects.filter(pk=person.pk).update(date_joined=now() - ago)
    EmailAddress.objects.create(user=person, email=person.email, verified=verified, primary=True)
    return person, create_organization(name=f"Test {secrets.token_hex(6)}", owner=person)


def are_there(person: User, organization: Organization) -> tuple[bool, bool]:
    found = Organization.objects.filter(pk=organization.pk)
    return User.objects.filter(pk=person.pk).exists(), found.exists()


def test_purge__nobody_verified_for_7_days__deletes_the_person_and_the_organization() -> None:
    person, organization = signed_up()
    assert (purge_unverified(), are_there(person, organization)) == (1, (False, False))


@pytest.mark.parametrize(("ago", "verified"), [(dt.timedelta(days=6), False), (OLD, True)])
def test_purge__younger_or_verified__is_kept(ago: dt.timedelta, verified: bool) -> None:
    made = signed_up(ago, verified=verified)
    assert (purge_unverified(), are_there(*made)) == (0, (True, True))


def test_purge__person_made_by_a_command__is_kept() -> None:
    person, organization = signed_up()
    EmailAddress.objects.filter(user=person).delete()
    assert (purge_unverified(), are_there(person, organization)) == (0, (True, True))


@pytest.mark.parametrize("use", ["submission", "member", "key", "plan", "form"])
def test_purge__organization_that_was_used__is_kept_with_its_person(use: str) -> None:
    person, organization = signed_up()
    form = Form.objects.get(organization=organization)
    if use == "submission":
        make_submission(form)
    elif use == "member":
        Membership.objects.create(organization=organization, user=signed_up(verified=True)[0])
    elif use == "key":
        organization.access_keys.update(last_used_at=now())
    elif use == "plan":
        Organization.objects.filter(pk=organization.pk).update(plan="pro")
    else:
        Form.objects.create(organization=organization, name="Contact")
    assert (purge_unverified(), are_there(person, organization)) == (0, (True, True))
