"""Submissions, their files, idempotency keys, tallies by form and hour, and refusals."""

import datetime as dt

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from config.ids import Prefix, encode_id, first_id_of, new_id
from config.times import now
from forms_app.models import Form
from keys.models import AccessKey, Organization
from submissions.json_text import JsonTextField
from submissions.search_text import fold


class SubmissionQuerySet(models.QuerySet["Submission"]):
    """Queries by their domain names."""

    def since(self, moment: dt.datetime) -> "SubmissionQuerySet":
        """Received at this time or later."""
        return self.filter(id__gte=first_id_of(moment))

    def before(self, moment: dt.datetime) -> "SubmissionQuerySet":
        """Received before this time."""
        return self.filter(id__lt=first_id_of(moment))

    def containing(self, text: str) -> "SubmissionQuerySet":
        """With a value that holds this text, whatever its case."""
        return self.filter(search_text__contains=fold(text))

    def unread(self) -> "SubmissionQuerySet":
        """Not opened by any member yet. Spam is never unread."""
        return self.filter(is_read=False, spam=False)

    def undispatched(self) -> "SubmissionQuerySet":
        """Not dispatched yet."""
        return self.filter(dispatched_at=None)

    def dispatchable(self) -> "SubmissionQuerySet":
        """Undispatched, and not waiting for the scan of its files (docs/adr/0095). Without files, it costs nothing."""
        rows = self.undispatched()
        if not settings.CLAMD_URL:
            return rows
        pending = StoredFile.objects.filter(submission_id=models.OuterRef("pk"), scan=StoredFile.Scan.PENDING)
        has_waited = models.Q(id__lt=first_id_of(now() - dt.timedelta(seconds=settings.SCAN_SECONDS)))
        return rows.filter(models.Q(files_size=0) | has_waited | ~models.Exists(pending))

    def unnumbered(self) -> "SubmissionQuerySet":
        """Dispatched by a release that gave no positions, though readable."""
        return self.filter(dispatched_at__isnull=False, position=None, spam=False)


class Submission(models.Model):
    """
    One submission. The row is its own outbox: `dispatched_at IS NULL` means that it is still to be dispatched.

    `submissions.receiving.insert` writes these columns with raw SQL; a test compares the two.
    """

    class CountedAs(models.TextChoices):
        """How the tally counts this row now; nothing until it has been dispatched."""

        NOTHING = "", "Not counted yet"
        KEPT = "kept", "Kept"
        SPAM = "spam", "Spam"

    class Held(models.TextChoices):
        """Why a stored submission is not dispatched yet. It is never spam, and `dispatched_at` is set."""

        NOT = "", "Not held"
        QUOTA = "quota", "Until the organization's hour has room"

    # Names in `controls` that are no control fields, which no client can write.
    REQUEST_ID = "request_id"  # the X-Request-Id
    TEST = "test"  # sent from the dashboard to try the form

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # Without a constraint: the form's is enough, and a second one would cost every INSERT a row lock.
    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+", db_index=False)
    data = JsonTextField()
    search_text = models.TextField(help_text="Every value, case-folded, for `q`.")
    controls = JsonTextField(
        default=dict, db_default={}, help_text="What delivery needs of the control fields; never shown."
    )
    meta = JsonTextField(default=dict, db_default={})
    spam = models.BooleanField(default=False, db_default=False)
    spam_reasons = JsonTextField(default=list, db_default=[])
    files_size = models.BigIntegerField(default=0, db_default=0, help_text="Bytes of its files, all together.")
    created_at = models.DateTimeField()
    held = models.CharField(max_length=12, choices=Held, default=Held.NOT, db_default="", blank=True)
    held_until = models.DateTimeField(null=True, blank=True, help_text="When it stopped being held.")
    released_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last marked as not spam, or released."
    )
    dispatched_at = models.DateTimeField(null=True, blank=True)
    counted_as = models.CharField(
        max_length=4, choices=CountedAs, default=CountedAs.NOTHING, db_default=CountedAs.NOTHING, blank=True
    )
    position = models.BigIntegerField(
        null=True, blank=True, help_text="Its place in the order in which its organization's rows became readable."
    )
    is_read = models.BooleanField(
        default=False, db_default=False, help_text="Whether a member has opened it in the dashboard, or marked it."
    )

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        indexes = [
            # With `spam` included, PostgreSQL finds the ids of a far page in the index only.
            models.Index(fields=["form", "id"], include=["spam"], name="submission_by_form"),
            models.Index(fields=["organization", "id"], include=["spam"], name="submission_by_organization"),
            models.Index(fields=["id"], condition=models.Q(dispatched_at=None), name="submission_undispatched"),
            models.Index(fields=["form", "id"], condition=models.Q(spam=True), name="submission_spam_by_form"),
            models.Index(
                fields=["organization", "id"], condition=models.Q(held="quota"), name="submission_held_for_quota"
            ),
            models.Index(
                fields=["organization", "position"],
                condition=models.Q(position__isnull=False),
                name="submission_reading_order",
            ),
            models.Index(
                fields=["id"],
                condition=models.Q(dispatched_at__isnull=False, position=None, spam=False),
                name="submission_unnumbered",
            ),
            models.Index(
                fields=["form", "position"], condition=models.Q(position__isnull=False), name="submission_form_order"
            ),
            # Two, because a client of the API never reads anything here: an organization can have a million unread rows
            # in one form, and a few in the other.
            models.Index(
                fields=["organization", "id"],
                condition=models.Q(is_read=False, spam=False),
                name="submission_unread",
            ),
            models.Index(
                fields=["form", "id"], condition=models.Q(is_read=False, spam=False), name="submission_unread_by_form"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="submission_counted_as_is_known", condition=models.Q(counted_as__in=["", "kept", "spam"])
            ),
            models.CheckConstraint(
                name="submission_dispatched_is_counted",
                condition=models.Q(dispatched_at=None) | ~models.Q(counted_as=""),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.SUBMISSION, self.id)

    @property
    def is_test(self) -> bool:
        """Whether a member sent it from the dashboard to try the form."""
        return self.TEST in self.controls


class StoredFile(models.Model):
    """
    A file that was sent to a form (docs/adr/0090).

    Its row is committed before its bytes are written, and deleted after them, so that no bytes are without a row. It
    outlives its submission, form and organization for the same reason: their ids are no constraints here.
    """

    class Scan(models.TextChoices):
        """What the virus scanner says; the names on the wire (docs/contract.md 11.10)."""

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


class ReadingPosition(models.Model):
    """
    Positions of an organization's submissions (`submissions.positions`).

    `last`: the highest one given. `served`: up to here some reader was given the rows.
    """

    organization = models.OneToOneField(Organization, primary_key=True, on_delete=models.CASCADE, related_name="+")
    last = models.BigIntegerField(default=0, db_default=0)
    served = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.organization_id} {self.last}"


class IdempotencyKey(models.Model):
    """
    A client's promise that two requests are one: same form, key and raw body are the same submission.

    Outlives the submission, so that a retry after a delete stores nothing new.
    """

    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    body_sha256 = models.CharField(max_length=64)
    submission_id = models.UUIDField()
    message = models.CharField(max_length=1000, help_text="What the first 201 said.")
    created_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["form", "key"], name="idempotency_key_once_per_form")]

    def __str__(self) -> str:
        return self.key


class Tally(models.Model):
    """
    Counts of a form in one UTC hour, the submission's hour of arrival.

    `received` never falls; `kept` and `spam` count the rows stored now; `delivered` and `failed` count deliveries.
    """

    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+", db_index=False)
    hour = models.DateTimeField()
    received = models.BigIntegerField(default=0, db_default=0)
    kept = models.BigIntegerField(default=0, db_default=0)
    spam = models.BigIntegerField(default=0, db_default=0)
    delivered = models.BigIntegerField(default=0, db_default=0)
    failed = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["form", "hour"], name="tally_once_per_form_and_hour")]

    def __str__(self) -> str:
        return f"{self.form_id} {self.hour:%Y-%m-%d %H}h"


class UsageDay(models.Model):
    """
    The usage of an organization on one UTC day, for operators; the counts never fall.

    `stored_bytes` is the total at its last change on that day, empty without one. `submissions.usage` writes these
    columns with raw SQL.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    submissions = models.BigIntegerField(default=0, db_default=0)
    mails = models.BigIntegerField(default=0, db_default=0, help_text="Delivered ones.")
    refusals = models.BigIntegerField(default=0, db_default=0)
    stored_bytes = models.BigIntegerField(null=True)

    class Meta:
        verbose_name = "day of usage"
        verbose_name_plural = "usage by day"
        constraints = [models.UniqueConstraint(fields=["organization", "day"], name="usage_once_per_day")]
        indexes = [models.Index(fields=["day"], name="usage_by_day")]

    def __str__(self) -> str:
        return f"{self.organization_id} {self.day}"


class Refusal(models.Model):
    """
    Refused submissions, equal ones of an hour in one row; never anything of their payload.

    Shown to owners for 24 hours to debug rejected POSTs. `submissions.refusals.store` writes them with raw SQL.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    form = models.ForeignKey(Form, null=True, on_delete=models.CASCADE, related_name="+")
    access_key = models.ForeignKey(AccessKey, null=True, on_delete=models.CASCADE, related_name="+")
    code = models.CharField(max_length=40, help_text="The envelope's `error`.")
    detail_code = models.CharField(max_length=40, blank=True)
    field = models.CharField(max_length=128, blank=True, help_text="The input that was wrong; its name, not its value.")
    origin = models.CharField(max_length=300, blank=True)
    message = models.CharField(max_length=300, blank=True)
    count = models.PositiveIntegerField(default=1, db_default=1)
    hour = models.DateTimeField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of what makes refusals alike.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "hour", "fingerprint"], name="refusal_once_per_hour_and_fingerprint"
            )
        ]
        indexes = [
            models.Index(fields=["organization", "-last_at"], name="refusal_by_organization"),
            models.Index(fields=["last_at"], name="refusal_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.count} x {self.code}"
