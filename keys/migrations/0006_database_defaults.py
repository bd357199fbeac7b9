"""Defaults in the database: code of another release may insert rows without these columns."""

import django.db.models.functions.datetime
from django.db import migrations, models

import config.times
from config.migration_operations.alter_fields import AlterFields


class Migration(migrations.Migration):
    atomic = False  # each table by itself: no lock is held while another one is awaited

    dependencies = [("keys", "0005_notice")]

    operations = [
        AlterFields(
            "accesskey",
            [
                ("admin", models.BooleanField(db_default=False, default=False)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("secret", "Secret"), ("publishable", "Publishable")],
                        db_default="secret",
                        default="secret",
                        max_length=20,
                    ),
                ),
                ("permissions", models.JSONField(blank=True, db_default=[], default=list)),
                (
                    "publishable_token",
                    models.CharField(blank=True, db_default="", default="", editable=False, max_length=80),
                ),
                (
                    "secret_made_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        default=config.times.now,
                        editable=False,
                        help_text="Creation, or the last regeneration.",
                    ),
                ),
            ],
        ),
        AlterFields(
            "auditevent",
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
            "invitation",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("admin", "Admin"), ("member", "Member")],
                        db_default="member",
                        default="member",
                        max_length=10,
                    ),
                ),
            ],
        ),
        AlterFields(
            "membership",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("admin", "Admin"), ("member", "Member")],
                        db_default="member",
                        default="member",
                        max_length=10,
                    ),
                ),
            ],
        ),
        AlterFields(
            "organization",
            [
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "plan",
                    models.CharField(
                        choices=[("free", "Free"), ("pro", "Pro"), ("enterprise", "Enterprise")],
                        db_default="free",
                        default="free",
                        max_length=20,
                    ),
                ),
            ],
        ),
        AlterFields(
            "user",
            [
                (
                    "date_joined",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                ("is_active", models.BooleanField(db_default=True, default=True)),
                (
                    "is_staff",
                    models.BooleanField(db_default=False, default=False, help_text="May enter the operators' admin."),
                ),
            ],
        ),
    ]
