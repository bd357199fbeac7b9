"""Organizations have an accent and a logo."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("keys", "0011_remembered_answers")]

    operations = [
        migrations.AddField(
            model_name="organization",
            name="accent",
            field=models.CharField(
                blank=True, db_default="", default="", editable=False, help_text="Such as #0b6e4f. Empty: ours.",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="organization",
            name="logo_name",
            field=models.CharField(
                blank=True, db_default="", default="", editable=False, help_text="The name of its Logo, if any.",
                max_length=60,
            ),
        ),
        migrations.CreateModel(
            name="Logo",
            fields=[
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="+",
                        serialize=False, to="keys.organization",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        db_index=True, help_text="In its address: its hash, size and tone.", max_length=60
                    ),
                ),
                ("png", models.BinaryField()),
            ],
        ),
    ]
