"""A form's page has a description, a button of its owner's words, and a way back after sending."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forms_app", "0006_form_report")]

    operations = [
        migrations.AddField(
            model_name="form",
            name="description",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Above the fields of the hosted page.", max_length=1000
            ),
        ),
        migrations.AddField(
            model_name="form",
            name="button_label",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Of the hosted page. Empty: Send.", max_length=60
            ),
        ),
        migrations.AddField(
            model_name="form",
            name="return_url",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="Linked from the thank-you page.", max_length=2048
            ),
        ),
    ]
