"""Secret bodies of mails, when they are out of date, and the one mail without an owner (docs/adr/0034)."""

from django.db import migrations, models

from config.secrets.encryption import SealedTextField


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0004_database_defaults")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="expires_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="secret",
            field=SealedTextField(blank=True, db_default="", default="", editable=False),
        ),
        migrations.RemoveConstraint(model_name="delivery", name="delivery_has_an_owner"),
    ]
