"""The outbox: messages, their deliveries, every attempt to send one, and the processes that send."""

import datetime as dt
import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from config.secrets.encryption import SealedTextField
from keys.models import Organization, User
from submissions.models import Submission
from webhooks.events import label_of, secret_events
from webhooks.models.receivers import WEBHOOK, Receiver

UNTIL_RESUMED = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)  # next attempt of a suspended organization's deliveries
ATTEMPTS_KEPT = 50  # of a delivery, the newest
MESSAGE_PREFIX = "msg"  # of `webhook-id`, the id that Standard Webhooks gives a message


class ErrorClass(models.TextChoices):
    """Why an attempt failed, in words for customers: they never see an exception."""

    TIMEOUT = "timeout", gettext_lazy("No answer in time")
    DNS_FAILURE = "dns_failure", gettext_lazy("The host name could not be resolved")
    URL_REFUSED = "url_refused", gettext_lazy("The URL is not allowed")
    ADDRESS_REFUSED = (
        "address_refused",
        gettext_lazy(
            "The host leads to a private or special address, or to a port that is not allowed: use one that is "
            "reachable from the internet"
        ),
    )
    CONNECTION_REFUSED = "connection_refused", gettext_lazy("The host refused the connection")
    CONNECTION_FAILED = "connection_failed", gettext_lazy("The connection failed or was closed without an answer")
    TLS_FAILURE = "tls_failure", gettext_lazy("No secure connection: the certificate or the protocol was not accepted")
    REDIRECT = "redirect", gettext_lazy("The URL redirects, which is not followed")
    HTTP_ERROR = "http_error", gettext_lazy("The answer was not a 2xx status")
    INVALID_RESPONSE = "invalid_response", gettext_lazy("The answer was not valid HTTP")
    MAIL_REFUSED = "mail_refused", gettext_lazy("The mail server refused this mail")
    MAIL_FAILED = "mail_failed", gettext_lazy("The mail server could not take the mail now")
    CANCELED = "canceled", gettext_lazy("Canceled before it was sent")
    INTERNAL_ERROR = "internal_error", gettext_lazy("A fault on our side")


class Message(models.Model):
    """
    The message of an event, stored once for all its deliveries.

    The id of `submission.created` is the submission's own, so that `webhook-id` is the same for every endpoint, attempt
    and replay. `body` is serialized once; it is empty while every channel of its deliveries writes its own text.
    `secret` is the encrypted body of an event that is secret, until its delivery ends (docs/adr/0034). `expires_at`: it
    is not sent after this.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    event = models.CharField(max_length=60)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    body = models.TextField(blank=True)
    secret = SealedTextField(blank=True, default="", db_default="", editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], condition=models.Q(expires_at__isnull=False), name="message_by_expiry")
        ]
        constraints = [
            # NULLs are distinct: events without a submission have as many messages as they like.
            models.UniqueConstraint(fields=["submission", "event"], name="message_once_per_submission_and_event")
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        """The `webhook-id`: `msg_` and 26 characters."""
        return encode_id(MESSAGE_PREFIX, self.id)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Deliveries by what a worker may do with them, by the database's clock."""

    def present(self) -> "DeliveryQuerySet":
        """Leave out those of a receiver that is being deleted."""
        return self.filter(receiver__deleted_at=None)

    def of_mode(self, organization_id: uuid.UUID, *, test: bool) -> "DeliveryQuerySet":
        """Those of an organization's test submissions, or all others."""
        tests = Submission.objects.ids_of_tests(organization_id)
        return self.filter(submission__in=tests) if test else self.exclude(submission__in=tests)

    def readable(self) -> "DeliveryQuerySet":
        """Leave out mails with a code or a link that is a key; those of tests are nobody's."""
        return self.exclude(~models.Q(submission__counted_as=Submission.CountedAs.TEST), event__in=secret_events())

    def not_leased(self) -> "DeliveryQuerySet":
        """Exclude deliveries that a worker is sending now."""
        return self.filter(models.Q(lease_until=None) | models.Q(lease_until__lt=Now()))

    def due(self) -> "DeliveryQuerySet":
        """Keep pending deliveries whose next attempt is due, without a live lease."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__lte=Now()).not_leased()

    def claimable(self) -> "DeliveryQuerySet":
        """Keep due deliveries that no claim holds."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__lte=Now(), lease_token__isnull=True)

    def abandoned(self) -> "DeliveryQuerySet":
        """Keep those whose lease has ended without a result: their deliverer is gone."""
        return self.filter(lease_token__isnull=False, lease_until__lt=Now())

    def locked(self, *, skips: bool = False) -> "DeliveryQuerySet":
        """
        Return these deliveries for one UPDATE, which locks them in key order; `skips`: without those that others hold.

        Deletions lock deliveries in this order too, so that the two cannot wait for each other.
        """
        rows = self.order_by("pk").select_for_update(no_key=True, skip_locked=skips)
        return Delivery.objects.filter(pk__in=rows.values("pk"))

    def waiting_for_resume(self) -> "DeliveryQuerySet":
        """Keep those that wait until their organization is no longer suspended."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__gte=UNTIL_RESUMED)


class Delivery(models.Model):
    """
    One message to one target of one channel.

    `target` names where it goes within its channel: the public id of its `receiver`, or a mail address. `host` is
    the receiving host, where there is one. `attempt_count` counts the present round; retry and replay start a new one.
    `key` keeps an event without a submission from being queued twice. `lost_claims` counts claims that ended without a
    result, since the last one that had one (docs/adr/0109).
    """

    class Status(models.TextChoices):
        """
        Held deliveries wait for a receiver that is pending or needs attention.

        Canceled ones were spam, or their receiver was disabled, or is of the other mode. Mails of test submissions are
        recorded: they are never sent.
        """

        PENDING = "pending", gettext_lazy("Pending")
        HELD = "held", gettext_lazy("Held")
        DELIVERED = "delivered", gettext_lazy("Delivered")
        FAILED = "failed", gettext_lazy("Failed")
        CANCELED = "canceled", gettext_lazy("Canceled")
        RECORDED = "recorded", gettext_lazy("Recorded")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    account = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    receiver = models.ForeignKey(
        Receiver, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    event = models.CharField(max_length=60, db_default="")
    channel = models.CharField(max_length=20, db_default="")
    target = models.CharField(max_length=254, db_default="")
    host = models.CharField(max_length=255, blank=True, default="", db_default="")
    key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 - NULL: no key; a value is unique
    priority = models.SmallIntegerField(default=0, db_default=0)
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING, db_default=Status.PENDING)
    attempt_count = models.PositiveIntegerField(default=0, db_default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    lost_claims = models.PositiveSmallIntegerField(default=0, db_default=0)
    counted_as = models.CharField(
        max_length=10, blank=True, default="", db_default="", help_text="How the tally counts it now."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()
    # Not columns: the mail channel looks them up after the claim, because rendering makes no query.
    is_to_member = False
    is_to_viewer = False  # who changes nothing
    language = ""  # of the recipient; empty for the form's
    is_stopped = False

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                name="delivery_has_an_owner",
                # Somebody without an account asked for a code: the answer says so, by mail.
                condition=models.Q(organization__isnull=False)
                | models.Q(account__isnull=False)
                | models.Q(event="account.mail"),
            ),
            models.CheckConstraint(
                name="delivery_names_event_and_target", condition=~models.Q(event="") & ~models.Q(target="")
            ),
            models.CheckConstraint(
                name="delivery_to_a_receiver_has_one",
                condition=models.Q(channel__in=["webhook", "destination"], receiver__isnull=False)
                | ~models.Q(channel__in=["", "webhook", "destination"]) & models.Q(receiver=None),
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
            # NULLs are distinct: a delivery without a submission is unique by its key, if it has one.
            models.UniqueConstraint(
                fields=["submission", "event", "channel", "target"], name="delivery_once_per_submission_and_target"
            ),
            models.UniqueConstraint(
                fields=["key"], condition=models.Q(key__isnull=False), name="delivery_once_per_key"
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=models.Q(status="pending"), name="delivery_due"),
            models.Index(
                fields=["-priority", "next_attempt_at"],
                condition=models.Q(status="pending", priority__gt=0),
                name="delivery_due_first",
            ),
            models.Index(
                fields=["organization", "channel", "target", "next_attempt_at"],
                condition=models.Q(status="pending"),
                name="delivery_queues",
            ),
            models.Index(
                fields=["receiver", "-id"], condition=models.Q(receiver__isnull=False), name="delivery_by_receiver"
            ),
            models.Index(fields=["message"], name="delivery_by_message"),
            models.Index(fields=["account"], condition=models.Q(account__isnull=False), name="delivery_by_account"),
            models.Index(
                fields=["channel", "target"], condition=models.Q(lease_token__isnull=False), name="delivery_in_flight"
            ),
            models.Index(
                fields=["receiver"],
                condition=models.Q(status__in=["pending", "held"]),
                name="delivery_unsent_by_receiver",
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
        return encode_id(Prefix.DELIVERY, self.id)

    @property
    def shown_channel(self) -> str:
        """The channel as the API shows it: the kind of its receiver, if it has one."""
        return self.channel if self.receiver is None else self.receiver.kind

    @property
    def webhook_id(self) -> uuid.UUID | None:
        return self.receiver_id if self.channel == WEBHOOK else None

    @property
    def waits_for_resume(self) -> bool:
        return self.next_attempt_at is not None and self.next_attempt_at >= UNTIL_RESUMED

    @property
    def probe_at(self) -> dt.datetime | None:
        """The next attempt at its endpoint while the circuit of that is open. Reads the receiver."""
        return self.receiver.probe_at if self.receiver is not None else None

    @property
    def waits_for_endpoint(self) -> bool:
        """Return whether it waits for its turn while the circuit of its endpoint is open."""
        return self.next_attempt_at is not None and self.probe_at is not None and self.next_attempt_at < self.probe_at

    @property
    def expected_at(self) -> dt.datetime | None:
        """The time of its next attempt; while it waits for its endpoint, the earliest one."""
        return self.probe_at if self.waits_for_endpoint else self.next_attempt_at

    @cached_property
    def newest_attempts(self) -> "list[Attempt]":
        """Its newest attempts, the newest first. `newest_attempts` of the log's queries loads those of a page."""
        return list(self.attempts.order_by("-id")[:ATTEMPTS_KEPT])

    @property
    def shown_attempts(self) -> "list[Attempt]":
        return self.newest_attempts[::-1]

    @property
    def event_label(self) -> str:
        return label_of(self.event)


class Attempt(models.Model):
    """One attempt: its time, result and duration. Kept for 30 days."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    started_at = models.DateTimeField(db_index=True)
    status = models.PositiveIntegerField(null=True, blank=True, help_text="HTTP or SMTP status.")
    duration_ms = models.PositiveIntegerField(help_text="Milliseconds.")
    error = models.CharField(max_length=30, blank=True, choices=ErrorClass)
    response = models.TextField(blank=True, help_text="The first 4 KiB of the answer.")
    # Text, because nothing searches it. Without the body of a webhook's message, which all attempts share.
    request = models.TextField(
        blank=True, default="", db_default="", help_text="JSON of the request, without signatures and secrets."
    )
    receiver = models.UUIDField(
        null=True,
        blank=True,
        editable=False,
        help_text="Its webhook or destination while it has a request or an answer; empty before 0.3.0.",
    )
    # Not a positive one, whose check would read the whole table while the migration locks it.
    recorded = models.IntegerField(null=True, blank=True, editable=False, help_text="Bytes of its request and answer.")

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(
                fields=["receiver", "-id", "recorded"],
                condition=models.Q(receiver__isnull=False),
                name="attempt_recorded_of_receiver",
            )
        ]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%S} {self.error or self.status}"


class DelivererSlots(models.Model):
    """
    A process that delivers, and how many requests it may have in flight: webhooks, and mails apart.

    Its heartbeat moves `alive_until`. The shares of organizations and hosts are parts of the sum of living processes.
    A worker, beat and `deliver` also have a row with their `role` and no slots, whether they are busy or not.
    """

    class Role(models.TextChoices):
        WORKER = "worker"
        BEAT = "beat"
        DELIVER = "deliver"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, help_text="Host and process id.")
    slots = models.PositiveIntegerField()
    mail_slots = models.PositiveIntegerField()
    role = models.CharField(max_length=20, choices=Role, blank=True, default="", db_default="")
    alive_until = models.DateTimeField()

    class Meta:
        verbose_name = "deliverer"

    def __str__(self) -> str:
        return self.name
