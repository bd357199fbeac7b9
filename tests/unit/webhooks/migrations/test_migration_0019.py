"""Migration 0019: webhooks and destinations become receivers with their ids, and go back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE, AFTER = ("webhooks", "0018_lost_claims_are_due_like_others"), ("webhooks", "0019_one_receiver")
URL = "https://hooks.example.com/in"


def migrate(target: tuple[str, str]) -> Apps:
    """Migrate this app to a state and return its models."""
    executor = MigrationExecutor(connection)
    others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] != "webhooks"]
    return executor.migrate([*others, target]).apps


@pytest.fixture
def old() -> Iterator[Apps]:
    """Yield the models of 0018; migrate to the newest schema after the test."""
    yield migrate(BEFORE)
    migrate(max(leaf for leaf in MigrationExecutor(connection).loader.graph.leaf_nodes() if leaf[0] == "webhooks"))


def rows_of(apps: Apps, model: str) -> list[dict[str, Any]]:
    return list(apps.get_model("webhooks", model).objects.order_by("pk").values())


def test_0019__there_and_back__keeps_receivers_their_ids_and_their_deliveries(old: Apps) -> None:
    """One test, since each way takes seconds."""
    organization = old.get_model("keys", "Organization").objects.create(name="Test", slug="test-0019")
    form = old.get_model("forms_app", "Form").objects.create(organization=organization, name="Contact")
    webhooks = old.get_model("webhooks", "Webhook").objects
    own = webhooks.create(form=form, url=URL, secret="whsec_a", failure_count=3, events=["submission.created"])
    wide = webhooks.create(all_forms_of=organization, url=f"{URL}/2", status="pending")
    destinations = old.get_model("webhooks", "Destination").objects
    slack = destinations.create(organization=organization, form=form, kind="slack", name="Sales", config='{"url":"a"}')
    ntfy = destinations.create(
        **{"organization": organization, "kind": "ntfy", "name": "Team", "config": "{}"},
        **{"status": "needs_attention", "disabled_reason": "No."},
    )
    message = old.get_model("webhooks", "Message").objects.create(event="submission.created")
    deliveries = old.get_model("webhooks", "Delivery").objects
    about = {"organization": organization, "message": message, "event": "e", "status": "failed"}
    for number, (channel, receiver) in enumerate((("webhook", own), ("destination", slack), ("destination", ntfy))):
        deliveries.create(channel=channel, target=f"t{number}", **about, **{channel: receiver})
    deliveries.create(channel="mail", target="ada@example.com", **about)
    before = {model: rows_of(old, model) for model in ("Webhook", "Destination", "Delivery")}

    new = migrate(AFTER)
    receivers = new.get_model("webhooks", "Receiver").objects
    assert {row.pk: (row.kind, row.form_id, row.organization_id, row.status, str(row.name or row.url)) for row in receivers.all()} == {
        own.pk: ("webhook", form.pk, organization.pk, "active", URL),
        wide.pk: ("webhook", None, organization.pk, "pending", f"{URL}/2"),
        slack.pk: ("slack", form.pk, organization.pk, "active", "Sales"),
        ntfy.pk: ("ntfy", None, organization.pk, "needs_attention", "Team"),
    }
    found = receivers.get(pk=own.pk)
    assert (found.secret, found.failure_count, found.events, found.config) == (
        *("whsec_a", 3, ["submission.created"]),
        "",
    )
    assert receivers.values_list("config", "secret").get(pk=slack.pk) == (before["Destination"][0]["config"], "")
    logged = new.get_model("webhooks", "Delivery").objects.values_list("target", "receiver")
    assert dict(logged) == {"t0": own.pk, "t1": slack.pk, "t2": ntfy.pk, "ada@example.com": None}

    again = migrate(BEFORE)
    after = {model: rows_of(again, model) for model in before}
    for row in before["Destination"] + after["Destination"]:
        del row["updated_at"]  # nothing shows it
    assert after == before
