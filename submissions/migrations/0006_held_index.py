"""Find the held submissions of an organization, oldest first."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0005_held_posts")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("held", "quota")), fields=["organization", "id"], name="submission_held_for_quota"
            ),
        ),
    ]
