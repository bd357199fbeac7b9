"""
Number each organization's submissions in the order in which readers follow them with a cursor.

The deliverer numbers those that are stored already (`submissions.positions.number_missed`).
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("keys", "0010_sessions_and_second_steps"),
        ("submissions", "0007_usage_by_day"),
    ]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="position",
            field=models.BigIntegerField(
                blank=True,
                help_text="Its place in the order in which its organization's rows became readable.",
                null=True,
            ),
        ),
        migrations.CreateModel(
            name="ReadingPosition",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="keys.organization",
                    ),
                ),
                ("last", models.BigIntegerField(db_default=0, default=0)),
                ("served", models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
    ]
