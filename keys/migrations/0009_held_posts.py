"""Organizations count their held submissions, and remember when their hour was nearly used up."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import config.times


class Migration(migrations.Migration):
    dependencies = [("keys", "0008_audit_trail")]

    operations = [
        migrations.CreateModel(
            name="HourMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("percent", models.PositiveSmallIntegerField()),
                (
                    "reached_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), default=config.times.now
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="organization",
            name="held_posts",
            field=models.PositiveIntegerField(
                db_default=0, default=0, editable=False, help_text="Submissions held until the hour has room."
            ),
        ),
        migrations.AddIndex(
            model_name="organization",
            index=models.Index(condition=models.Q(("held_posts__gt", 0)), fields=["id"], name="organization_that_holds"),
        ),
        migrations.AddField(
            model_name="hourmark",
            name="organization",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="hour_marks",
                to="keys.organization",
            ),
        ),
        migrations.AddConstraint(
            model_name="hourmark",
            constraint=models.UniqueConstraint(fields=("organization", "percent"), name="hour_mark_once"),
        ),
    ]
