"""An attempt says how many bytes it records of which receiver, so that the oldest of many can go."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("webhooks", "0015_roles_of_deliverers")]

    operations = [
        migrations.AddField(
            "attempt",
            "receiver",
            models.UUIDField(
                blank=True,
                editable=False,
                help_text="Its webhook or destination while it has a request or an answer; empty before 0.3.0.",
                null=True,
            ),
        ),
        migrations.AddField(
            "attempt",
            "recorded",
            models.PositiveIntegerField(
                blank=True, editable=False, help_text="Bytes of its request and answer.", null=True
            ),
        ),
        AddIndexConcurrently(
            "attempt",
            models.Index(
                condition=models.Q(("receiver__isnull", False)),
                fields=["receiver", "-id", "recorded"],
                name="attempt_recorded_of_receiver",
            ),
        ),
    ]
