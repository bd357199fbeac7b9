"""Answers of POSTs with an Idempotency-Key are remembered for a day."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import config.times


class Migration(migrations.Migration):
    dependencies = [("keys", "0010_sessions_and_second_steps")]

    operations = [
        migrations.CreateModel(
            name="RememberedAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request_sha256", models.CharField(help_text="Of method, path and key.", max_length=64)),
                ("body_sha256", models.CharField(help_text="Of the request's raw body.", max_length=64)),
                ("status", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("answer", models.TextField(db_default="", default="", help_text="The JSON of the answer.")),
                ("location", models.CharField(db_default="", default="", max_length=200)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), db_index=True, default=config.times.now
                    ),
                ),
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
                    models.UniqueConstraint(
                        fields=("organization", "request_sha256"), name="answer_once_per_request"
                    )
                ],
            },
        ),
    ]
