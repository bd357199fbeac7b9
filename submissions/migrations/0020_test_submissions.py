"""Find the test submissions of an organization, which no tally counts."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddConstraintConcurrently, AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0019_test_mode")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("counted_as", "test")), fields=["organization", "id"], name="submission_tests"
            ),
        ),
        AddConstraintConcurrently(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(("counted_as__in", ["", "kept", "spam", "held", "test"])),
                name="submission_counted_as_is_one_of_five",
            ),
        ),
        # Last: everything before it can be run again after an interruption.
        migrations.RemoveConstraint(model_name="submission", name="submission_counted_as_is_valid"),
    ]
