"""What a person prefers in the dashboard: the time zone, and the columns of lists."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("keys", "0013_brand")]  # which landed first

    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="A name of the IANA database. Empty: not known yet; shown in UTC.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="preferences",
            field=models.JSONField(
                blank=True,
                db_default={},
                default=dict,
                editable=False,
                help_text="How this person wants the dashboard.",
            ),
        ),
    ]
