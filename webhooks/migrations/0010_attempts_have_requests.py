"""An attempt keeps the request that was sent, without its signature."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0009_queues")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="request",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="JSON of the request, without signatures and secrets.",
            ),
        ),
    ]
