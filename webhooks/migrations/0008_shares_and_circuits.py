"""Columns for shares, circuits and lost claims; the table of living deliverers (docs/adr/0045 to 0047)."""

import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0007_encrypted_secrets")]

    operations = [
        migrations.CreateModel(
            name="DelivererSlots",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(help_text="Host and process id.", max_length=200)),
                ("slots", models.PositiveIntegerField()),
                ("mail_slots", models.PositiveIntegerField()),
                ("alive_until", models.DateTimeField()),
            ],
            options={"verbose_name": "deliverer"},
        ),
        migrations.AddField("delivery", "lost_claims", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.AddField(
            "webhook",
            "in_flight_limit",
            models.PositiveSmallIntegerField(
                db_default=4, default=4, editable=False, help_text="Requests in flight, over all hosts."
            ),
        ),
        migrations.AddField(
            "webhook",
            "probe_at",
            models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Set while its circuit is open: the time of the next attempt.",
                null=True,
            ),
        ),
    ]
