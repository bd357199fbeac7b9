"""Idempotency keys know their sender: a page, or a holder of a secret key. Those that exist count for both."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0014_search_grams")]

    operations = [
        migrations.AddField(
            "idempotencykey",
            "sender",
            models.CharField(
                blank=True,
                choices=[("page", "Page"), ("secret", "Secret")],
                db_default="",
                default="",
                max_length=6,
            ),
        ),
    ]
