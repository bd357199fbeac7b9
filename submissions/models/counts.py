"""Idempotency keys, places in the reading order, tallies by form and hour, usage by day, and refusals."""

from django.db import models
from django.db.models.functions import Now

from config.base.times import now
from forms_app.models import Form
from keys.models import AccessKey, Organization


class ReadingPosition(models.Model):
    """
    Positions of an organization's submissions (`submissions.counts.positions`).

    `last`: the highest one given. `served`: up to here some reader was given the rows. Test submissions have other
    positions.
    """

    organization = models.OneToOneField(Organization, primary_key=True, on_delete=models.CASCADE, related_name="+")
    last = models.BigIntegerField(default=0, db_default=0)
    served = models.BigIntegerField(default=0, db_default=0)
    test_last = models.BigIntegerField(default=0, db_default=0)
    test_served = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.organization_id} {self.last}"


class IdempotencyKey(models.Model):
    """
    A client's promise that two requests are one: same form, key and raw body are the same submission.

    Outlives the submission, so that a retry after a delete stores nothing new. `sender`: whose key it is, as pages and
    holders of a secret key do not see each other's, and test mode has its own; empty for all, from code that did not
    tell them apart.
    """

    class Sender(models.TextChoices):
        PAGE = "page"
        SECRET = "secret"  # noqa: S105 - not one
        TEST = "test"

    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=255)
    sender = models.CharField(max_length=6, choices=Sender, blank=True, default="", db_default="")
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

    `stored_bytes` is the total at its last change on that day, empty without one. `submissions.counts.usage` writes
    these columns with raw SQL.
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
