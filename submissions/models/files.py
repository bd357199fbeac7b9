"""The files of submissions."""

import uuid
from collections.abc import Iterable

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now


class StoredFileQuerySet(models.QuerySet["StoredFile"]):
    def used(self) -> "StoredFileQuerySet":
        """Return the files of submissions, without those that are to be deleted."""
        return self.filter(submission_id__isnull=False, removed_at=None)

    def of(self, submission_ids: Iterable[uuid.UUID]) -> "StoredFileQuerySet":
        """Return the files of these submissions, each one's in their order; without those that are to be deleted."""
        return self.used().filter(submission_id__in=list(submission_ids)).order_by("submission_id", "place", "id")


class StoredFile(models.Model):
    """
    A file that was sent to a form (docs/adr/0090).

    Its row is committed before its bytes are written, and deleted after them, so that no bytes are without a row. It
    outlives its submission, form and organization for the same reason: their ids are no constraints here.
    """

    class Scan(models.TextChoices):
        """The result of the virus scan; the names on the wire (docs/contract.md 11.10)."""

        NONE = "none", "Not scanned"
        PENDING = "pending", "Not scanned yet"
        CLEAN = "clean", "Clean"
        INFECTED = "infected", "Infected"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization_id = models.UUIDField(editable=False)
    form_id = models.UUIDField(editable=False)
    submission_id = models.UUIDField(null=True, editable=False, help_text="Empty: sent by itself, and not used yet.")
    field = models.CharField(max_length=128, help_text="The name of the form's field.")
    place = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Its place among the files of its submission."
    )
    name = models.CharField(max_length=255, help_text="The name that its sender gave it, cleaned.")
    size = models.BigIntegerField(help_text="Bytes.")
    content_type = models.CharField(max_length=127, help_text="As its content says.")
    sha256 = models.CharField(max_length=64)
    scan = models.CharField(max_length=8, choices=Scan, default=Scan.NONE, db_default="none")
    address = models.CharField(max_length=45, blank=True, help_text="Its sender's IP address while it is not used.")
    created_at = models.DateTimeField(default=now, db_default=Now())
    stored_at = models.DateTimeField(null=True, help_text="When its bytes were on disk.")
    expires_at = models.DateTimeField(null=True, help_text="When it is deleted unless a submission uses it.")
    removed_at = models.DateTimeField(null=True, help_text="Set: its bytes are to be deleted, then this row.")

    objects = StoredFileQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["submission_id"], condition=models.Q(submission_id__isnull=False), name="file_of_submission"
            ),
            models.Index(fields=["form_id", "id"], name="file_by_form"),
            models.Index(
                fields=["organization_id", "id"], condition=models.Q(submission_id=None), name="file_unused_by_org"
            ),
            models.Index(
                fields=["address", "id"], condition=models.Q(submission_id=None), name="file_unused_by_address"
            ),
            models.Index(fields=["expires_at"], condition=models.Q(expires_at__isnull=False), name="file_expiring"),
            models.Index(fields=["removed_at"], condition=models.Q(removed_at__isnull=False), name="file_removed"),
            models.Index(fields=["id"], condition=models.Q(scan="pending"), name="file_to_scan"),
        ]
        constraints = [
            models.CheckConstraint(
                name="file_scan_is_known", condition=models.Q(scan__in=["none", "pending", "clean", "infected"])
            ),
            models.CheckConstraint(
                name="file_used_is_stored",
                condition=models.Q(submission_id=None) | models.Q(stored_at__isnull=False, expires_at=None),
            ),
            models.CheckConstraint(
                name="file_unused_expires",
                condition=models.Q(submission_id__isnull=False)
                | models.Q(expires_at__isnull=False)
                | models.Q(removed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.FILE, self.id)

    @property
    def url(self) -> str:
        """The address of its bytes, for a key or a login."""
        return f"{settings.PUBLIC_URL}/files/{self.public_id}"

    @property
    def is_withheld(self) -> bool:
        """Whether nobody gets its bytes: it is infected, or not scanned yet."""
        return self.scan in (self.Scan.PENDING, self.Scan.INFECTED)
