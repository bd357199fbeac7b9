"""The log of questions to recipients, which outlives their forms and organizations."""

from django.db import migrations, models
from django.db.models.functions import Now

import config.times


class Migration(migrations.Migration):
    dependencies = [("forms_app", "0009_replies")]

    operations = [
        migrations.CreateModel(
            name="RecipientQuestion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("organization_ref", models.UUIDField()),
                ("mailbox", models.CharField(max_length=64)),
                ("asked_at", models.DateTimeField(db_default=Now(), db_index=True, default=config.times.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["mailbox", "asked_at"], name="question_by_mailbox"),
                    models.Index(fields=["organization_ref", "asked_at"], name="question_by_organization"),
                ]
            },
        ),
    ]
