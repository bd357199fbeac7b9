"""What a person reads: a language of the dashboard and of the mails to them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("keys", "0012_preferences")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="One of LANGUAGES. Empty: pages in the browser's, mails in English.",
                max_length=8,
            ),
        ),
    ]
