"""Destinations, and the column of deliveries that names theirs (docs/adr/0087)."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import config.ids
import config.secrets.encryption
import config.times
from config.migration_operations.concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("forms_app", "0008_language"),
        ("keys", "0014_user_language"),
        ("webhooks", "0011_webhooks_of_all_forms"),
    ]

    operations = [
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    models.UUIDField(default=config.ids.new_id, editable=False, primary_key=True, serialize=False),
                ),
                ("kind", models.CharField(max_length=20)),
                ("name", models.CharField(max_length=200)),
                ("config", config.secrets.encryption.SealedTextField(editable=False)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("disabled", "Disabled"),
                            ("needs_attention", "Needs attention"),
                        ],
                        db_default="active",
                        default="active",
                        max_length=20,
                    ),
                ),
                ("disabled_reason", models.CharField(blank=True, db_default="", default="", max_length=300)),
                (
                    "quiet_until",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="Nothing is sent before: its pace, or the receiver's wish.",
                        null=True,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
                (
                    "form",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="destinations",
                        to="forms_app.form",
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="destinations",
                        to="keys.organization",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["organization", "-id"], name="destination_by_organization")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "disabled", "needs_attention"])),
                        name="destination_status_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("disabled_reason", ""), ("status", "active")),
                            models.Q(
                                models.Q(("status", "active"), _negated=True),
                                models.Q(("disabled_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="destination_stopped_has_a_reason",
                    ),
                ],
            },
        ),
        migrations.AddField(
            "delivery",
            "destination",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="webhooks.destination",
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                condition=models.Q(("destination__isnull", False)),
                fields=["destination", "status"],
                name="delivery_by_destination",
            ),
        ),
        AddIndexConcurrently(
            "delivery",
            models.Index(
                condition=models.Q(("destination__isnull", False)),
                fields=["destination", "-id"],
                name="delivery_log_of_destination",
            ),
        ),
    ]
