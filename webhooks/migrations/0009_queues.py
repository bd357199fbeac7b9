"""Indexes that claims go round by: the queues of each organization, and deliveries to be sent alone."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0008_shares_and_circuits")]

    operations = [
        AddIndexConcurrently(
            "delivery",
            models.Index(
                condition=models.Q(("status", "pending")),
                fields=["organization", "channel", "target", "next_attempt_at"],
                name="delivery_queues",
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                condition=models.Q(("lost_claims__gt", 0), ("status", "pending")),
                fields=["next_attempt_at"],
                name="delivery_due_alone",
            ),
        ),
    ]
