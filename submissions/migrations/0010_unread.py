"""Read and unread: submissions from before count as read, new ones are unread."""

from django.db import migrations, models

from config.migration_operations.concurrently import AddIndexConcurrently

HELP = "Whether a member has opened it in the dashboard, or marked it."
UNREAD = models.Q(("is_read", False), ("spam", False))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0009_reading_order_indexes")]

    operations = [
        # PostgreSQL keeps the default of this moment for the present rows, and writes none of them.
        migrations.AddField(
            model_name="submission",
            name="is_read",
            field=models.BooleanField(db_default=True, default=False, help_text=HELP),
        ),
        migrations.AlterField(
            model_name="submission",
            name="is_read",
            field=models.BooleanField(db_default=False, default=False, help_text=HELP),
        ),
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(condition=UNREAD, fields=["organization", "id"], name="submission_unread"),
        ),
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(condition=UNREAD, fields=["form", "id"], name="submission_unread_by_form"),
        ),
    ]
