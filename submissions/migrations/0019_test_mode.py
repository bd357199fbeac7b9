"""Positions of test submissions, and the columns that say so."""

from django.db import migrations, models

COUNTED_AS = [
    ("", "Not counted yet"),
    ("kept", "Kept"),
    ("spam", "Spam"),
    ("held", "Received only, until it is confirmed"),
    ("test", "Never: a test submission"),
]
HELD = [
    ("", "Not held"),
    ("quota", "Until the organization's hour has room"),
    ("confirmation", "Until its submitter confirms the address"),
    ("rule", "Until a member releases it"),
]


def position() -> models.BigIntegerField:
    return models.BigIntegerField(db_default=0, default=0)


class Migration(migrations.Migration):
    dependencies = [("submissions", "0018_imported_index")]

    operations = [
        migrations.AddField("readingposition", "test_last", position()),
        migrations.AddField("readingposition", "test_served", position()),
        migrations.AlterField(
            "idempotencykey",
            "sender",
            models.CharField(
                blank=True,
                choices=[("page", "Page"), ("secret", "Secret"), ("test", "Test")],
                db_default="",
                default="",
                max_length=6,
            ),
        ),
        migrations.AlterField(
            "submission",
            "counted_as",
            models.CharField(blank=True, choices=COUNTED_AS, db_default="", default="", max_length=4),
        ),
        migrations.AlterField(
            "submission",
            "held",
            models.CharField(blank=True, choices=HELD, db_default="", default="", max_length=12),
        ),
    ]
