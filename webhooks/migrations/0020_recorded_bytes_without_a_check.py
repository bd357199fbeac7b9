"""The bytes of an attempt are counted by the product, so PostgreSQL checks them in no row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0019_one_receiver")]

    operations = [
        migrations.AlterField(
            "attempt",
            "recorded",
            models.IntegerField(blank=True, editable=False, help_text="Bytes of its request and answer.", null=True),
        ),
    ]
