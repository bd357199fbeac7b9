"""An organization keeps an owner, even if its owners delete their accounts at the same time."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from config.api.errors import Conflict
from keys.members import leave_organization
from keys.models import Membership, Organization, Role, User
from submissions.lifecycle import closing
from tests.support.tenants import make_tenant
from tests.unit.webhooks.side_by_side import Meanwhile, shared_database


@pytest.fixture(autouse=True)
def shared(transactional_db: None, tmp_path: Path) -> Iterator[None]:  # noqa: ARG001  # open before it is copied
    with shared_database(tmp_path):
        yield


def two_owners() -> tuple[Organization, User, User]:
    tenant = make_tenant()
    other = User.objects.create_user("other@example.com")
    Membership.objects.create(organization=tenant.organization, user=other, role=Role.OWNER)
    return tenant.organization, tenant.owner, other


def owners_of(organization: Organization) -> list[str]:
    return list(organization.memberships.filter(role=Role.OWNER).values_list("user__email", flat=True))


def run_in_the_midst(monkeypatch: pytest.MonkeyPatch, name: str, other: Meanwhile) -> None:
    """Begin another call when `delete_account` has called this function."""
    real = getattr(closing, name)

    def call(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        other.begin()
        return found

    monkeypatch.setattr(closing, name, call)


def delete(user: User) -> Callable[[], None]:
    return lambda: closing.delete_account(user, with_organizations=())


# The first is called before the transaction of the deletion, the second inside of it.
@pytest.mark.parametrize("name", ["organizations_of", "record_event"])
def test_two_owners__deleting_their_accounts_together__one_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    organization, one, two = two_owners()
    other = Meanwhile(delete(two))
    run_in_the_midst(monkeypatch, name, other)
    refused = 0
    for end in (delete(one), other.end):
        try:
            end()
        except Conflict as refusal:
            refused += "You are the only member of" in refusal.message
    assert refused == 1
    assert len(owners_of(organization)) == 1


def test_owner__leaving_while_the_other_deletes_the_account__stays(monkeypatch: pytest.MonkeyPatch) -> None:
    organization, one, two = two_owners()
    other = Meanwhile(lambda: leave_organization(organization, two))
    run_in_the_midst(monkeypatch, "record_event", other)
    closing.delete_account(one, with_organizations=())
    with pytest.raises(Conflict):
        other.end()
    assert owners_of(organization) == [two.email]
