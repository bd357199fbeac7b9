"""Imports of old submissions, and the rows that a form knows."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import config.base.ids
import config.base.times


class Migration(migrations.Migration):
    dependencies = [
        ("forms_app", "0014_form_keys"),
        ("keys", "0018_chosen_forms"),
        ("submissions", "0016_waiting_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.base.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("source", models.CharField(help_text="What the first call named.", max_length=40)),
                ("kept", models.BigIntegerField(db_default=0, default=0)),
                ("spam", models.BigIntegerField(db_default=0, default=0)),
                ("created_at", models.DateTimeField(db_default=Now(), default=config.base.times.now)),
                ("last_call_at", models.DateTimeField(db_default=Now(), default=config.base.times.now)),
                (
                    "undone_at",
                    models.DateTimeField(
                        blank=True, help_text="From then on its submissions are hidden.", null=True
                    ),
                ),
                (
                    "deleted_at",
                    models.DateTimeField(blank=True, help_text="When all of them were deleted.", null=True),
                ),
                (
                    "form",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="forms_app.form"
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="keys.organization"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted_at", None), ("undone_at__isnull", False)),
                        fields=["organization"],
                        name="import_being_deleted",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BinaryField(max_length=32)),
                ("values_digest", models.BinaryField(max_length=32, null=True)),
                (
                    "form",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="forms_app.form",
                    ),
                ),
                (
                    "imported_in",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="submissions.import"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("form", "digest"), name="imported_row_once_per_form")
                ],
            },
        ),
        migrations.AddField(
            model_name="submission",
            name="imported_in",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="submissions.import",
            ),
        ),
    ]
