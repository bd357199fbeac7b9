"""Who must be told, what each is owed, and every attempt to tell them."""

import datetime as dt
import uuid

from django.db import models
from django.db.models.functions import Now

from config.ids import Prefix, encode_id, new_id
from config.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks.channels.outcome import ErrorClass
from webhooks.signing import new_secret

MAX_URL = 2048  # characters


class Event(models.TextChoices):
    """What a webhook can be told (SPEC section 6)."""

    SUBMISSION_CREATED = "submission.created", "A new submission was received"


class Webhook(models.Model):
    """An endpoint of a customer's, attached to a form."""

    class Status(models.TextChoices):
        """A pending one was named by a web page and gets nothing until an owner or admin activates it."""

        ACTIVE = "active", "Active"
        PENDING = "pending", "Pending"
        DISABLED = "disabled", "Disabled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="webhooks", db_index=False)
    url = models.CharField(max_length=MAX_URL)
    events = models.JSONField(default=list)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    disabled_reason = models.CharField(max_length=200, blank=True)
    secret = models.CharField(max_length=100, default=new_secret, editable=False)
    previous_secret = models.CharField(max_length=100, blank=True, editable=False)
    previous_secret_until = models.DateTimeField(null=True, blank=True, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    failure_count = models.PositiveIntegerField(default=0, editable=False, help_text="Failures since the last success.")
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["form", "url"], name="webhook_url_once_per_form"),
            models.CheckConstraint(
                name="webhook_status_is_known", condition=models.Q(status__in=["active", "pending", "disabled"])
            ),
            models.CheckConstraint(
                name="webhook_disabled_has_a_reason",
                condition=models.Q(status="disabled") & ~models.Q(disabled_reason="")
                | ~models.Q(status="disabled") & models.Q(disabled_reason=""),
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.WEBHOOK, self.id)

    @property
    def organization_id(self) -> uuid.UUID:
        """Whose it is; the form must be loaded with it."""
        return self.form.organization_id

    def secrets_at(self, moment: dt.datetime) -> list[str]:
        """Return the secrets that sign a message: for 24 hours after a rotation both."""
        in_grace = self.previous_secret_until is not None and moment < self.previous_secret_until
        return [self.secret, self.previous_secret] if in_grace else [self.secret]


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Deliveries by what is to be done with them, by the database's clock."""

    def not_leased(self) -> "DeliveryQuerySet":
        """Which nobody is sending now."""
        return self.filter(models.Q(lease_until=None) | models.Q(lease_until__lt=Now()))

    def due(self) -> "DeliveryQuerySet":
        """Pending, its time has come, and free to take."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__lte=Now()).not_leased()


class Delivery(models.Model):
    """
    What one endpoint or one address is owed: a submission, a test event, or a notice to a webhook's owner.

    `attempt_count` counts the present round, which retry and replay begin anew. `body` is the message as it is sent,
    serialized once; mails are written when they are sent.
    """

    class Kind(models.TextChoices):
        """What it tells."""

        SUBMISSION = "submission", "Submission"
        TEST = "test", "Test event"
        NOTICE = "notice", "Notice to the owner"

    class Status(models.TextChoices):
        """Held ones wait for a pending webhook; canceled ones were marked as spam or lost their webhook."""

        PENDING = "pending", "Pending"
        HELD = "held", "Held"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"
        CANCELED = "canceled", "Canceled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    webhook = models.ForeignKey(
        Webhook, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    recipient = models.EmailField(max_length=254, blank=True)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SUBMISSION)
    message_id = models.CharField(max_length=40)
    body = models.TextField(blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    attempt_count = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    counted_as = models.CharField(max_length=10, blank=True, default="", help_text="How the tally counts it now.")
    created_at = models.DateTimeField(default=now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                name="delivery_goes_to_a_webhook_or_an_address",
                condition=models.Q(webhook__isnull=False, recipient="")
                | models.Q(webhook=None) & ~models.Q(recipient=""),
            ),
            models.CheckConstraint(
                name="delivery_pending_has_a_time",
                condition=models.Q(status="pending", next_attempt_at__isnull=False)
                | ~models.Q(status="pending") & models.Q(next_attempt_at=None),
            ),
            models.CheckConstraint(
                name="delivery_lease_has_a_token",
                condition=models.Q(lease_token=None, lease_until=None)
                | models.Q(lease_token__isnull=False, lease_until__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["submission", "webhook"],
                condition=models.Q(kind="submission", webhook__isnull=False),
                name="delivery_once_per_submission_and_webhook",
            ),
            models.UniqueConstraint(
                fields=["submission", "recipient"],
                condition=models.Q(kind="submission", webhook=None),
                name="delivery_once_per_submission_and_address",
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=models.Q(status="pending"), name="delivery_due"),
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
            models.Index(fields=["webhook"], condition=models.Q(lease_token__isnull=False), name="delivery_in_flight"),
            models.Index(
                fields=["webhook"], condition=models.Q(status__in=["pending", "held"]), name="delivery_owed_to_webhook"
            ),
            models.Index(fields=["finished_at"], name="delivery_by_end"),
            models.Index(fields=["organization", "-id"], name="delivery_by_organization"),
            models.Index(
                fields=["organization", "-id"],
                condition=models.Q(status__in=["failed", "canceled", "held"])
                | models.Q(status="pending", attempt_count__gt=0),
                name="delivery_undelivered",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.DELIVERY, self.id)


class Attempt(models.Model):
    """One try: when, what came back, how long it took. Kept for 30 days."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    started_at = models.DateTimeField(db_index=True)
    status = models.PositiveIntegerField(null=True, blank=True, help_text="HTTP or SMTP status.")
    duration_ms = models.PositiveIntegerField(help_text="Milliseconds.")
    error = models.CharField(max_length=30, blank=True, choices=ErrorClass)
    response = models.TextField(blank=True, help_text="The first 4 KiB of the answer.")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%S} {self.error or self.status}"
