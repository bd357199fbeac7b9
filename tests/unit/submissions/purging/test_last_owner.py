"""Accounts deleted while something else happens: an organization keeps an owner, and a mail to one is no obstacle."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.db.models.signals import pre_delete

from config.api.errors import Conflict
from config.base.times import now
from keys.members import leave_organization
from keys.models import Membership, Organization, Role, User
from submissions.lifecycle import closing
from tests.support.tenants import make_tenant
from tests.unit.webhooks.side_by_side import Meanwhile, shared_database
from webhooks.models import Delivery, Message


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


def put_mail(pk: uuid.UUID) -> None:
    message = Message.objects.create(event="account.mail")
    place = {"event": message.event, "channel": "account", "target": "ada@example.com"}
    Delivery.objects.create(account_id=pk, message=message, next_attempt_at=now(), **place)


def test_account__to_which_a_mail_is_recorded_while_it_is_deleted__is_deleted() -> None:
    """On SQLite the mail waits for the writer, and comes too late."""
    user = User.objects.create_user("ada@example.com")
    other = Meanwhile(lambda: put_mail(user.pk))

    def record_mail(**_: Any) -> None:
        other.begin()

    pre_delete.connect(record_mail, sender=User)
    try:
        closing.delete_account(user, with_organizations=())
    finally:
        pre_delete.disconnect(record_mail, sender=User)

    with suppress(IntegrityError):
        other.end()
    assert not User.objects.filter(email=user.email).exists()
    assert not Delivery.objects.exists()
