"""Count the rows of a form that no tally counts yet, without reading those of others or the dispatched ones."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0015_senders_of_idempotency_keys")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("counted_as", "")),
                fields=["form", "spam"],
                name="submission_waiting",
            ),
        ),
    ]
