"""Replies to submitters, their confirmation, and mailboxes that want neither."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import config.times


class Migration(migrations.Migration):
    dependencies = [("keys", "0014_user_language"), ("forms_app", "0008_language")]

    operations = [
        migrations.AddField(
            model_name="form",
            name="reply",
            field=models.JSONField(blank=True, help_text="See Reply; empty: it was never set.", null=True),
        ),
        migrations.AddField(
            model_name="form",
            name="confirmation",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Whether submitters confirm their address first."
            ),
        ),
        migrations.CreateModel(
            name="OptOut",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(max_length=254)),
                ("created_at", models.DateTimeField(db_default=Now(), default=config.times.now)),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="keys.organization",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "email"), name="opt_out_once_per_organization")
                ],
            },
        ),
    ]
