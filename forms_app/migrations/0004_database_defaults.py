"""Defaults in the database: code of another release may insert rows without these columns."""

import django.db.models.functions.datetime
from django.db import migrations, models

import config.times
from config.migration_operations.alter_fields import AlterFields


class Migration(migrations.Migration):
    atomic = False  # each table by itself: no lock is held while another one is awaited

    dependencies = [("forms_app", "0003_form_erasure")]

    operations = [
        AlterFields(
            "form",
            [
                (
                    "allowed_origins",
                    models.JSONField(blank=True, db_default=[], default=list, help_text="Empty: every origin."),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "fields",
                    models.JSONField(blank=True, db_default=[], default=list, help_text="A list of field definitions."),
                ),
                ("is_default", models.BooleanField(db_default=False, default=False)),
                (
                    "notification_recipients",
                    models.JSONField(
                        blank=True, db_default=[], default=list, help_text="Addresses mailed per submission."
                    ),
                ),
                (
                    "spam_protection",
                    models.JSONField(
                        blank=True, db_default={}, default=dict, help_text="See SpamProtection; empty: its defaults."
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("draft", "Draft"), ("published", "Published"), ("archived", "Archived")],
                        db_default="draft",
                        default="draft",
                        max_length=10,
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
            ],
        ),
    ]
