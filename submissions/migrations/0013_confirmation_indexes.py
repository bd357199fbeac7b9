"""Find the unconfirmed submissions of an organization, and count them apart."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddConstraintConcurrently, AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0012_confirmation")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("held", "confirmation")),
                fields=["organization", "id"],
                name="submission_unconfirmed",
            ),
        ),
        AddConstraintConcurrently(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(("counted_as__in", ["", "kept", "spam", "held"])),
                name="submission_counted_as_is_valid",
            ),
        ),
        # Last: everything before it can be run again after an interruption.
        migrations.RemoveConstraint(model_name="submission", name="submission_counted_as_is_known"),
    ]
