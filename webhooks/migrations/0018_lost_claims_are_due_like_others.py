"""Deliveries whose last claim was lost are claimed with all others, so they need no index of their own."""

from django.db import migrations

from config.migration_operations.concurrently import RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0017_receivers_are_deleted_in_batches")]

    operations = [RemoveIndexConcurrently("delivery", "delivery_due_alone")]
