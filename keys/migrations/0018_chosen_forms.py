"""Members and invitations that are limited to chosen forms."""

from django.db import migrations, models

HELP = "The only forms that a viewer or member sees. Empty: all."


class Migration(migrations.Migration):
    dependencies = [("keys", "0017_viewers")]

    operations = [
        migrations.AddField("invitation", "form_ids", models.JSONField(editable=False, help_text=HELP, null=True)),
        migrations.AddField("membership", "form_ids", models.JSONField(editable=False, help_text=HELP, null=True)),
        migrations.AddConstraint(
            "membership",
            models.CheckConstraint(
                condition=models.Q(("form_ids__isnull", True), ("role__in", ["member", "viewer"]), _connector="OR"),
                name="membership_of_chosen_forms_manages_nothing",
            ),
        ),
    ]
