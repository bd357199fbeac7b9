"""Submissions."""

import datetime as dt
import uuid

from django.conf import settings
from django.db import models
from django.utils.functional import cached_property

from config.base.ids import Prefix, encode_id, first_id_of, new_id
from config.base.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.json_text import JsonTextField
from submissions.models.files import StoredFile
from submissions.models.imports import Import
from submissions.search_text import fold


class SubmissionQuerySet(models.QuerySet["Submission"]):
    def since(self, moment: dt.datetime) -> "SubmissionQuerySet":
        return self.filter(id__gte=first_id_of(moment))

    def before(self, moment: dt.datetime) -> "SubmissionQuerySet":
        return self.filter(id__lt=first_id_of(moment))

    def containing(self, text: str) -> "SubmissionQuerySet":
        """With a value that holds this text, whatever its case."""
        return self.filter(search_text__contains=fold(text))

    def of_mode(self, *, test: bool) -> "SubmissionQuerySet":
        """Only test submissions, or only live ones."""
        tests = models.Q(counted_as=Submission.CountedAs.TEST)
        return self.filter(tests if test else ~tests)

    def ids_of_tests(self, organization_id: uuid.UUID) -> models.QuerySet["Submission", uuid.UUID]:
        """The ids of an organization's test submissions, for a subquery: a small index has them."""
        return self.filter(organization=organization_id).of_mode(test=True).values_list("pk", flat=True)

    def listed(self, *, test: bool = False) -> "SubmissionQuerySet":
        """Those of a mode, without those that are held until their submitter confirms the address."""
        return self.of_mode(test=test).exclude(held=Submission.Held.CONFIRMATION)

    def shown(self, organization_id: uuid.UUID) -> "SubmissionQuerySet":
        """Of an organization, without those of undone imports, which are deleted in batches."""
        # Read here: as a subquery it would be a condition on each row of a far page, and it almost always finds none.
        undone = Import.objects.using(self.db).being_deleted().filter(organization=organization_id)
        hidden = list(undone.values_list("pk", flat=True))
        return self.exclude(imported_in__in=hidden) if hidden else self

    def unread(self) -> "SubmissionQuerySet":
        """Not opened by any member yet. Spam is never unread."""
        return self.filter(is_read=False, spam=False)

    def undispatched(self) -> "SubmissionQuerySet":
        return self.filter(dispatched_at=None)

    def uncounted(self) -> "SubmissionQuerySet":
        """
        In no tally yet, so undispatched too, by a constraint.

        It does not say so: PostgreSQL could then read every undispatched row by that index instead of these.
        """
        return self.filter(counted_as=Submission.CountedAs.NOTHING)

    def dispatchable(self) -> "SubmissionQuerySet":
        """Undispatched, and not waiting for the scan of its files (docs/adr/0095), which is free without files."""
        rows = self.undispatched()
        if not settings.CLAMD_URL:
            return rows
        pending = StoredFile.objects.filter(submission_id=models.OuterRef("pk"), scan=StoredFile.Scan.PENDING)
        has_waited = models.Q(id__lt=first_id_of(now() - dt.timedelta(seconds=settings.SCAN_SECONDS)))
        return rows.filter(models.Q(files_size=0) | has_waited | ~models.Exists(pending))

    def unnumbered(self) -> "SubmissionQuerySet":
        """
        Dispatched by a release that gave no positions, and which knew no test mode, though readable.

        One that waits for its confirmation gets its position with it: readers of the list would have passed it by.
        """
        return self.listed().filter(dispatched_at__isnull=False, position=None, spam=False)


class Submission(models.Model):
    """
    One submission. The row is its own outbox: `dispatched_at IS NULL` means that it is still to be dispatched.

    `submissions.receiving.insert` writes these columns with raw SQL; a test compares the two.
    """

    class CountedAs(models.TextChoices):
        """
        How the tally counts this row now; nothing until it has been dispatched. Of a test submission it is TEST from
        its INSERT on: the mark of test mode, which never changes.
        """

        NOTHING = "", "Not counted yet"
        KEPT = "kept", "Kept"
        SPAM = "spam", "Spam"
        HELD = "held", "Received only, until it is confirmed"
        TEST = "test", "Never: a test submission"

    class Held(models.TextChoices):
        """Why a stored submission is not dispatched yet. It is never spam, and `dispatched_at` is set."""

        NOT = "", "Not held"
        QUOTA = "quota", "Until the organization's hour has room"
        CONFIRMATION = "confirmation", "Until its submitter confirms the address"
        RULE = "rule", "Until a member releases it"

    # Names in `controls` that are no control fields, which no client can write.
    REQUEST_ID = "request_id"  # the X-Request-Id
    TRIAL = "test"  # sent from the dashboard to try the form, of either mode
    HUMAN = "human"  # it passed a human check
    CONFIRM = "confirm"  # its submitter has to confirm the address

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
    # Without a constraint, as above; nothing deletes an import before its submissions.
    imported_in = models.ForeignKey(
        Import,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
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
            # For totals, which add these rows to the tallies. Without `id`, equal entries are in the table's order.
            models.Index(
                fields=["form", "spam"],
                condition=models.Q(counted_as=""),
                name="submission_waiting",
            ),
            models.Index(fields=["form", "id"], condition=models.Q(spam=True), name="submission_spam_by_form"),
            models.Index(
                fields=["organization", "id"], condition=models.Q(held="quota"), name="submission_held_for_quota"
            ),
            models.Index(
                fields=["organization", "id"], condition=models.Q(held="confirmation"), name="submission_unconfirmed"
            ),
            models.Index(fields=["organization", "id"], condition=models.Q(counted_as="test"), name="submission_tests"),
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
            models.Index(
                fields=["imported_in", "id"],
                condition=models.Q(imported_in__isnull=False),
                name="submission_imported",
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
                name="submission_counted_as_is_one_of_five",
                condition=models.Q(counted_as__in=["", "kept", "spam", "held", "test"]),
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
        """Whether it is of test mode: counted nowhere, and seen only by those who look for test data."""
        return self.counted_as == self.CountedAs.TEST

    @property
    def is_trial(self) -> bool:
        """Whether a member sent it from the dashboard to try the form as visitors do."""
        return self.TRIAL in self.controls

    @property
    def is_imported(self) -> bool:
        """Whether it was imported, so nothing is delivered for it."""
        return self.imported_in_id is not None

    @property
    def awaits_confirmation(self) -> bool:
        """Whether it is held until its submitter confirms the address."""
        return self.held == self.Held.CONFIRMATION

    @cached_property
    def files(self) -> "list[StoredFile]":
        """Its files in their order, with one query if it has some; `files.records.load_files` reads those of many."""
        return list(StoredFile.objects.using(self._state.db).of([self.pk])) if self.files_size else []
