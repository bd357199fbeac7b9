"""Mails to submitters, and the record of their consent."""

from django.db import models
from django.db.models.functions import Now

from config.base.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.models.submissions import Submission


class Consent(models.Model):
    """
    The record of a question for confirmation: the text shown, the times, the addresses (docs/adr/0092).

    Made when a submission is held for confirmation, and deleted with it. `asked_at` is empty if no mail went.
    """

    submission = models.OneToOneField(Submission, primary_key=True, on_delete=models.CASCADE, related_name="+")
    held_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)
    email = models.CharField(max_length=254, blank=True, default="", db_default="")
    digest = models.CharField(
        max_length=64, null=True, blank=True, unique=True, editable=False, help_text="SHA-256 of the link's token."
    )
    text = models.TextField(blank=True, default="", db_default="", help_text="As the mail and the page show it.")
    text_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="")
    asked_at = models.DateTimeField(null=True, blank=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_from = models.CharField(
        max_length=45, blank=True, default="", db_default="", help_text="The IP address of the confirmation."
    )

    def __str__(self) -> str:
        return f"{self.submission_id} {self.email}"


class SubmitterMail(models.Model):
    """
    A mail to the submitter that a submission causes: wanted, then queued or not, and why not.

    It outlives its submission, so that deleting one makes no room under the caps. `mailbox` is a keyed hash.
    """

    class Kind(models.TextChoices):
        """The purpose of the mail."""

        REPLY = "reply", "Reply"
        CONFIRMATION = "confirmation", "Question for confirmation"

    class Refusal(models.TextChoices):
        """Why no mail went."""

        NO = "", "It went"
        NO_ADDRESS = "no_address", "No address was given"
        BAD_ADDRESS = "bad_address", "The value is not one address"
        PROGRAM = "program", "The address is that of a program, or our own"
        NO_CHECK = "no_check", "It came without a human check"
        OPTED_OUT = "opted_out", "The address wants no more mails of the organization"
        OFF = "off", "The reply was turned off"
        SPAM = "spam", "It was marked as spam"
        FORM_AND_ADDRESS = "form_address", "Over the cap of a form and address"
        ORGANIZATION_AND_ADDRESS = "org_address", "Over the cap of an organization and address"
        FORM = "form", "Over the cap of a form"
        TEST = "test", "It was recorded, for a test submission"

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    form = models.ForeignKey(Form, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=12, choices=Kind)
    mailbox = models.CharField(max_length=64, blank=True, default="", db_default="")
    refusal = models.CharField(max_length=12, choices=Refusal, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)
    decided_at = models.DateTimeField(null=True, blank=True, help_text="When the mail was queued, or refused.")

    class Meta:
        constraints = [
            # NULLs are distinct: those of deleted submissions are many.
            models.UniqueConstraint(fields=["submission", "kind"], name="submitter_mail_once_per_submission_and_kind"),
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(decided_at=None), name="submitter_mail_undecided"),
            models.Index(fields=["organization", "mailbox", "decided_at"], name="submitter_mail_by_mailbox"),
            models.Index(fields=["form", "decided_at"], name="submitter_mail_by_form"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.submission_id}"
