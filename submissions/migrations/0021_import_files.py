"""Files that members upload to import them."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import config.base.ids
import config.base.times
import submissions.json_text


class Migration(migrations.Migration):
    dependencies = [
        ("forms_app", "0014_form_keys"),
        ("keys", "0018_chosen_forms"),
        ("submissions", "0020_test_submissions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportFile",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=config.base.ids.new_id, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("format", models.CharField(max_length=6)),
                ("chosen", submissions.json_text.JsonTextField(db_default={}, default=dict)),
                ("total", models.PositiveIntegerField()),
                ("read", models.PositiveIntegerField(db_default=0, default=0)),
                ("imported", models.PositiveIntegerField(db_default=0, default=0)),
                ("skipped", models.PositiveIntegerField(db_default=0, default=0)),
                ("refused", models.PositiveIntegerField(db_default=0, default=0)),
                ("created_at", models.DateTimeField(db_default=Now(), db_index=True, default=config.base.times.now)),
                (
                    "form",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="forms_app.form"
                    ),
                ),
                (
                    "imported_in",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="submissions.import",
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
        ),
        migrations.CreateModel(
            name="ImportFilePart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_refused", models.BooleanField(db_default=False, default=False)),
                ("content", models.BinaryField()),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="submissions.importfile",
                    ),
                ),
            ],
        ),
    ]
