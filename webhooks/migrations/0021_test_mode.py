"""Receivers of test submissions, and mails that are recorded instead of sent."""

from django.db import migrations, models

MODES = [("live", "Live submissions"), ("test", "Test submissions"), ("both", "Live and test submissions")]
STATUSES = [
    ("pending", "Pending"),
    ("held", "Held"),
    ("delivered", "Delivered"),
    ("failed", "Failed"),
    ("canceled", "Canceled"),
    ("recorded", "Recorded"),
]


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0020_recorded_bytes_without_a_check")]

    operations = [
        migrations.AddField(
            "receiver", "mode", models.CharField(choices=MODES, db_default="live", default="live", max_length=4)
        ),
        migrations.AlterField(
            "delivery",
            "status",
            models.CharField(choices=STATUSES, db_default="pending", default="pending", max_length=10),
        ),
    ]
