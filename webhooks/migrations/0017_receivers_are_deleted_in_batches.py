"""A webhook or destination with a long log is hidden first, and deleted when its log is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0016_recorded_bytes")]

    operations = [
        migrations.AddField("webhook", "deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField("destination", "deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
    ]
