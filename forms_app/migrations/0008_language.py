"""A form's page has a language."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forms_app", "0007_hosted_page_texts")]

    operations = [
        migrations.AddField(
            model_name="form",
            name="language",
            field=models.CharField(
                choices=settings.LANGUAGES,
                db_default="en",
                default="en",
                help_text="Of the hosted page, and of mails to recipients who have not chosen one.",
                max_length=10,
            ),
        ),
    ]
