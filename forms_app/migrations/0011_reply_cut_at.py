"""When a form's reply was first sent without its links."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("forms_app", "0010_recipient_questions")]

    operations = [
        migrations.AddField(
            model_name="form",
            name="reply_cut_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="When a reply first lacked its links, and the owners were mailed.",
                null=True,
            ),
        ),
    ]
