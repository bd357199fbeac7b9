"""The check that reads the database: a misspelled OIDC_ORGANIZATION would turn everybody away."""

import pytest
from django.core.checks import Tags, run_checks
from pytest_django import Settings

from keys.models import User
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db


def found(*databases: str) -> list[tuple[str | None, str]]:
    messages = run_checks(tags=[Tags.database], databases=list(databases))
    return [(message.id, message.msg) for message in messages]


def test_organization_of_new_people__that_exists__is_fine(settings: Settings) -> None:
    assert found("default") == []
    settings.OIDC_ORGANIZATION = make_tenant().organization.slug
    assert found("default") == []


@pytest.mark.parametrize(("has_people", "number"), [(True, "fieldpost.E031"), (False, "fieldpost.W009")])
def test_organization_of_new_people__missing__is_found(settings: Settings, *, has_people: bool, number: str) -> None:
    settings.OIDC_ORGANIZATION = "nowhere"
    User.objects.all().delete()  # the database of a whole run has a first person
    if has_people:
        User.objects.create_user("ada@example.com")
    assert found("default") == [(number, "OIDC_ORGANIZATION: there is no organization 'nowhere'.")]
    assert found("snapshot") == []
