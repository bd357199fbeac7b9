"""Find the submissions of an import, to undo it."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0017_imports")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("imported_in__isnull", False)),
                fields=["imported_in", "id"],
                name="submission_imported",
            ),
        ),
    ]
