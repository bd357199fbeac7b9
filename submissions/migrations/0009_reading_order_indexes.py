"""Read on from a cursor, in an organization or one form of it, without sorting."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0008_reading_order")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("position__isnull", False)),
                fields=["organization", "position"],
                name="submission_reading_order",
            ),
        ),
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("dispatched_at__isnull", False), ("position", None), ("spam", False)),
                fields=["id"],
                name="submission_unnumbered",
            ),
        ),
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("position__isnull", False)),
                fields=["form", "position"],
                name="submission_form_order",
            ),
        ),
    ]
