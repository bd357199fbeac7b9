"""Imports of old submissions, and the rows that they have seen."""

from django.db import models
from django.db.models.functions import Now

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.json_text import JsonTextField


class ImportQuerySet(models.QuerySet["Import"]):
    def being_deleted(self) -> "ImportQuerySet":
        """Undone ones of which submissions are still stored, hidden."""
        return self.filter(undone_at__isnull=False, deleted_at=None)


class Import(models.Model):
    """
    Submissions of one form that were brought from elsewhere, by one or more calls.

    `kept` and `spam` count its submissions that are stored now. They are in no tally, which analytics read.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+")
    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=40, help_text="What the first call named.")
    kept = models.BigIntegerField(default=0, db_default=0)
    spam = models.BigIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(default=now, db_default=Now())
    last_call_at = models.DateTimeField(default=now, db_default=Now())
    undone_at = models.DateTimeField(null=True, blank=True, help_text="From then on its submissions are hidden.")
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="When all of them were deleted.")

    objects = ImportQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["organization"],
                condition=models.Q(undone_at__isnull=False, deleted_at=None),
                name="import_being_deleted",
            )
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.IMPORT, self.id)

    @property
    def stored(self) -> int:
        """How many of its submissions are stored now."""
        return self.kept + self.spam


class ImportedRow(models.Model):
    """
    A row that a form knows, so that it is imported once. It outlives its submission, and not the undoing of its import.

    `digest`: of its source with its id there, else with its time and values. `values_digest`: of its values, if it has
    an id there. Both are keyed: nobody without our key can try values against those of a deleted submission.
    """

    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+", db_index=False)
    imported_in = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)
    values_digest = models.BinaryField(max_length=32, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["form", "digest"], name="imported_row_once_per_form")]

    def __str__(self) -> str:
        return f"{self.form_id} {bytes(self.digest).hex()}"


class ImportFile(models.Model):
    """
    A file that a member has uploaded to import it, kept for a day; its bytes are in parts.

    `chosen`: how its columns are mapped. `read` to `refused`: how far its import is; `total`: the records that it has.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=6)
    chosen = JsonTextField(default=dict, db_default={})
    total = models.PositiveIntegerField()
    read = models.PositiveIntegerField(default=0, db_default=0)
    imported = models.PositiveIntegerField(default=0, db_default=0)
    skipped = models.PositiveIntegerField(default=0, db_default=0)
    refused = models.PositiveIntegerField(default=0, db_default=0)
    imported_in = models.ForeignKey(Import, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_done(self) -> bool:
        """Whether all of its records were read."""
        return self.read >= self.total


class ImportFilePart(models.Model):
    """Bytes of an uploaded file, or of the CSV of its refused rows, in the order of their ids."""

    file = models.ForeignKey(ImportFile, on_delete=models.CASCADE, related_name="parts")
    is_refused = models.BooleanField(default=False, db_default=False)
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.file_id} {self.pk}"
