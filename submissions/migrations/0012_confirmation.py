"""Submissions held for confirmation, the record of each question, and the mails to submitters."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

import config.times

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
]
KINDS = [("reply", "Reply"), ("confirmation", "Question for confirmation")]


class Migration(migrations.Migration):
    dependencies = [
        ("forms_app", "0009_replies"),
        ("keys", "0014_user_language"),
        ("submissions", "0011_files"),
    ]

    operations = [
        migrations.CreateModel(
            name="Consent",
            fields=[
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="submissions.submission",
                    ),
                ),
                ("held_at", models.DateTimeField(db_default=Now(), db_index=True, default=config.times.now)),
                ("email", models.CharField(blank=True, db_default="", default="", max_length=254)),
                (
                    "digest",
                    models.CharField(
                        blank=True,
                        editable=False,
                        help_text="SHA-256 of the link's token.",
                        max_length=64,
                        null=True,
                        unique=True,
                    ),
                ),
                (
                    "text",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="As the mail and the page show it."
                    ),
                ),
                ("text_sha256", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("asked_at", models.DateTimeField(blank=True, null=True)),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "confirmed_from",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The IP address of the confirmation.",
                        max_length=45,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SubmitterMail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=KINDS, max_length=12)),
                ("mailbox", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "refusal",
                    models.CharField(blank=True, choices=REFUSALS, db_default="", default="", max_length=12),
                ),
                ("created_at", models.DateTimeField(db_default=Now(), db_index=True, default=config.times.now)),
                (
                    "decided_at",
                    models.DateTimeField(blank=True, help_text="When the mail was queued, or refused.", null=True),
                ),
                (
                    "form",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="forms_app.form",
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="keys.organization",
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("submission", "kind"), name="submitter_mail_once_per_submission_and_kind"
                    )
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("decided_at", None)), fields=["id"], name="submitter_mail_undecided"
                    ),
                    models.Index(
                        fields=["organization", "mailbox", "decided_at"], name="submitter_mail_by_mailbox"
                    ),
                    models.Index(fields=["form", "decided_at"], name="submitter_mail_by_form"),
                ],
            },
        ),
        migrations.AlterField(
            model_name="submission",
            name="counted_as",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "Not counted yet"),
                    ("kept", "Kept"),
                    ("spam", "Spam"),
                    ("held", "Received only, until it is confirmed"),
                ],
                db_default="",
                default="",
                max_length=4,
            ),
        ),
        migrations.AlterField(
            model_name="submission",
            name="held",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "Not held"),
                    ("quota", "Until the organization's hour has room"),
                    ("confirmation", "Until its submitter confirms the address"),
                ],
                db_default="",
                default="",
                max_length=12,
            ),
        ),
    ]
