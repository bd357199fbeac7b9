"""Defaults in the database: code of another release may insert rows without these columns."""

import django.db.models.functions.datetime
from django.db import migrations, models

import config.times
import submissions.json_text
from config.migration_operations.alter_fields import AlterFields


class Migration(migrations.Migration):
    atomic = False  # each table by itself: no lock is held while another one is awaited

    dependencies = [("submissions", "0003_refusal")]

    operations = [
        AlterFields(
            "idempotencykey",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), db_index=True, default=config.times.now
                    ),
                ),
            ],
        ),
        AlterFields(
            "refusal",
            [
                ("count", models.PositiveIntegerField(db_default=1, default=1)),
            ],
        ),
        AlterFields(
            "submission",
            [
                (
                    "controls",
                    submissions.json_text.JsonTextField(
                        db_default={}, default=dict, help_text="What delivery needs of the control fields; never shown."
                    ),
                ),
                (
                    "counted_as",
                    models.CharField(
                        blank=True,
                        choices=[("", "Not counted yet"), ("kept", "Kept"), ("spam", "Spam")],
                        db_default="",
                        default="",
                        max_length=4,
                    ),
                ),
                ("meta", submissions.json_text.JsonTextField(db_default={}, default=dict)),
                ("spam", models.BooleanField(db_default=False, default=False)),
                ("spam_reasons", submissions.json_text.JsonTextField(db_default=[], default=list)),
            ],
        ),
        AlterFields(
            "tally",
            [
                ("delivered", models.BigIntegerField(db_default=0, default=0)),
                ("failed", models.BigIntegerField(db_default=0, default=0)),
                ("kept", models.BigIntegerField(db_default=0, default=0)),
                ("received", models.BigIntegerField(db_default=0, default=0)),
                ("spam", models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
    ]
