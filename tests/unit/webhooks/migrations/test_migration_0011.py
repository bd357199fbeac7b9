"""Migration 0011: webhooks of a form stay as they are; going back refuses to lose those of all forms."""

from collections.abc import Iterator

import pytest
from django.apps.registry import Apps
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = ("webhooks", "0010_attempts_have_requests"), ("webhooks", "0011_webhooks_of_all_forms")
URL = "https://hooks.example.com/in"


def migrate(target: tuple[str, str]) -> Apps:
    """Migrate this app to a state and return its models."""
    executor = MigrationExecutor(connection)
    others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "webhooks"]
    return executor.migrate([*others, target]).apps  # building the state again would take half a second


@pytest.fixture
def old() -> Iterator[Apps]:
    """Yield the models of 0010; migrate to the newest schema after the test."""
    yield migrate(BEFORE)
    migrate(max(leaf for leaf in MigrationExecutor(connection).loader.graph.leaf_nodes() if leaf[0] == "webhooks"))


def test_0011__there_and_back__keeps_webhooks_and_refuses_to_lose_those_of_all_forms(old: Apps) -> None:
    """One test, since each way takes seconds."""
    organization = old.get_model("keys", "Organization").objects.create(name="Test", slug="test-0011")
    form = old.get_model("forms_app", "Form").objects.create(organization=organization, name="Contact")
    old.get_model("webhooks", "Webhook").objects.create(form=form, url=URL, secret="whsec_a", failure_count=3)
    before = list(old.get_model("webhooks", "Webhook").objects.values())

    new = migrate(AFTER).get_model("webhooks", "Webhook").objects
    assert list(new.values()) == [{**row, "all_forms_of_id": None} for row in before]
    wide = new.create(all_forms_of_id=organization.pk, url=URL)
    for refused in (
        {"all_forms_of_id": organization.pk},
        {"form_id": form.pk},
        {"form_id": form.pk, "all_forms_of_id": organization.pk, "url": f"{URL}/2"},
        {"url": f"{URL}/2"},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            new.create(**{"url": URL, **refused})
    with pytest.raises(CommandError, match=r"Webhooks that serve all forms of an organization: 1\. Delete them"):
        migrate(BEFORE)
    assert new.filter(pk=wide.pk).delete()[0] == 1

    again = migrate(BEFORE).get_model("webhooks", "Webhook").objects
    assert list(again.values()) == before
