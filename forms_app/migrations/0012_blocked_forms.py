"""When, and why, an operator blocked a form."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forms_app", "0011_reply_cut_at")]

    operations = [
        migrations.AddField("form", "blocked_at", models.DateTimeField(blank=True, editable=False, null=True)),
        migrations.AddField(
            "form",
            "blocked_reason",
            models.CharField(blank=True, db_default="", default="", editable=False, max_length=300),
        ),
    ]
