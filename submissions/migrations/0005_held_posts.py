"""Submissions can be held: stored, and dispatched later."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("keys", "0009_held_posts"),
        ("submissions", "0004_database_defaults"),
    ]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="held",
            field=models.CharField(
                blank=True,
                choices=[("", "Not held"), ("quota", "Until the organization's hour has room")],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
        migrations.AddField(
            model_name="submission",
            name="held_until",
            field=models.DateTimeField(blank=True, help_text="When it stopped being held.", null=True),
        ),
        migrations.AlterField(
            model_name="submission",
            name="released_at",
            field=models.DateTimeField(
                blank=True, help_text="When it was last marked as not spam, or released.", null=True
            ),
        ),
    ]
