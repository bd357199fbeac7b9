"""Mails to submitters of test submissions are recorded."""

from django.db import migrations, models

REFUSALS = [
    ("", "It went"),
    ("no_address", "No address was given"),
    ("bad_address", "The value is not one address"),
    ("program", "The address is that of a program, or our own"),
    ("no_check", "It came without a human check"),
    ("opted_out", "The address wants no more mails of the organization"),
    ("off", "The reply was turned off"),
    ("spam", "It was marked as spam"),
    ("form_address", "Over the cap of a form and address"),
    ("org_address", "Over the cap of an organization and address"),
    ("form", "Over the cap of a form"),
    ("test", "It was recorded, for a test submission"),
]


class Migration(migrations.Migration):
    dependencies = [("submissions", "0021_import_files")]

    operations = [
        migrations.AlterField(
            "submittermail",
            "refusal",
            models.CharField(blank=True, choices=REFUSALS, db_default="", default="", max_length=12),
        ),
    ]
