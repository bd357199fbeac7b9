"""Defaults in the database: code of another release may insert rows without these columns."""

import django.db.models.functions.datetime
from django.db import migrations, models

import config.times
from config.migration_operations.alter_fields import AlterFields


class Migration(migrations.Migration):
    atomic = False  # each table by itself: no lock is held while another one is awaited

    dependencies = [("webhooks", "0003_messages_and_channels")]

    operations = [
        AlterFields(
            "delivery",
            [
                ("attempt_count", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "counted_as",
                    models.CharField(
                        blank=True, db_default="", default="", help_text="How the tally counts it now.", max_length=10
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("held", "Held"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("canceled", "Canceled"),
                        ],
                        db_default="pending",
                        default="pending",
                        max_length=10,
                    ),
                ),
            ],
        ),
        AlterFields(
            "message",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
            ],
        ),
        AlterFields(
            "webhook",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                ("events", models.JSONField(db_default=[], default=list)),
                (
                    "failure_count",
                    models.PositiveIntegerField(
                        db_default=0, default=0, editable=False, help_text="Failures since the last success."
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("pending", "Pending"), ("disabled", "Disabled")],
                        db_default="active",
                        default="active",
                        max_length=10,
                    ),
                ),
            ],
        ),
    ]
