"""The role of a process in its heartbeat; empty for the slots of one that has deliveries in flight."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0014_words_of_refused_addresses")]

    operations = [
        migrations.AddField(
            "delivererslots",
            "role",
            models.CharField(
                blank=True,
                choices=[("worker", "Worker"), ("beat", "Beat"), ("deliver", "Deliver")],
                db_default="",
                default="",
                max_length=20,
            ),
        ),
    ]
