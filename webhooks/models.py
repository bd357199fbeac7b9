"""Webhooks, the outbox of messages and deliveries, and every attempt to send one."""

import datetime as dt
import uuid

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext_lazy

from config.ids import Prefix, encode_id, new_id
from config.secrets.encryption import EncryptedTextField, SealedTextField
from config.times import now
from forms_app.models import Form
from keys.models import Organization, User
from submissions.models import Submission
from webhooks.events import label_of
from webhooks.signing import new_secret

UNTIL_RESUMED = dt.datetime(9999, 1, 1, tzinfo=dt.UTC)  # next attempt of a suspended organization's deliveries
MAX_URL = 2048  # characters
ALL_FORMS = gettext_noop("All forms")
IN_FLIGHT = 4  # requests in flight to a webhook that has not shown that it answers quickly
MESSAGE_PREFIX = "msg"  # of `webhook-id`, the id that Standard Webhooks gives a message


class ErrorClass(models.TextChoices):
    """Why an attempt failed, in words for customers: they never see an exception."""

    TIMEOUT = "timeout", gettext_lazy("No answer in time")
    DNS_FAILURE = "dns_failure", gettext_lazy("The host name could not be resolved")
    URL_REFUSED = "url_refused", gettext_lazy("The URL is not allowed")
    ADDRESS_REFUSED = "address_refused", gettext_lazy("The host leads to an address or port that is not allowed")
    CONNECTION_REFUSED = "connection_refused", gettext_lazy("The host refused the connection")
    CONNECTION_FAILED = "connection_failed", gettext_lazy("The connection failed or was closed without an answer")
    TLS_FAILURE = "tls_failure", gettext_lazy("No secure connection: the certificate or the protocol was not accepted")
    REDIRECT = "redirect", gettext_lazy("The URL redirects, which is not followed")
    HTTP_ERROR = "http_error", gettext_lazy("The answer was not a 2xx status")
    INVALID_RESPONSE = "invalid_response", gettext_lazy("The answer was not valid HTTP")
    MAIL_REFUSED = "mail_refused", gettext_lazy("The mail server refused this mail permanently")
    MAIL_FAILED = "mail_failed", gettext_lazy("The mail server could not take the mail now")
    CANCELED = "canceled", gettext_lazy("Canceled before it was sent")
    INTERNAL_ERROR = "internal_error", gettext_lazy("A fault on our side")


class WebhookQuerySet(models.QuerySet["Webhook"]):
    """Webhooks by the forms that they serve."""

    def serving(self, form: Form) -> "WebhookQuerySet":
        """Keep those that receive a form's submissions: its own, and those of all forms of its organization."""
        return self.filter(models.Q(form=form) | models.Q(all_forms_of=form.organization_id))

    def of_organization(self, organization_id: uuid.UUID) -> "WebhookQuerySet":
        """Keep those of an organization. A union, because no index serves an OR over two tables."""
        of_forms = Webhook.objects.filter(form__organization=organization_id).order_by().values("pk")
        of_all_forms = Webhook.objects.filter(all_forms_of=organization_id).order_by().values("pk")
        return self.filter(pk__in=of_forms.union(of_all_forms, all=True))


class Webhook(models.Model):
    """
    A customer's endpoint. It receives the events that `events` names, of one form or of all forms.

    Either `form` or `all_forms_of` is set: the organization whose forms it serves, later ones too (docs/adr/0084).
    """

    class Status(models.TextChoices):
        """A page named a pending webhook: nothing is sent to it until an owner or admin activates it."""

        ACTIVE = "active", gettext_lazy("Active")
        PENDING = "pending", gettext_lazy("Pending")
        DISABLED = "disabled", gettext_lazy("Disabled")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    form = models.ForeignKey(
        Form, null=True, blank=True, on_delete=models.CASCADE, related_name="webhooks", db_index=False
    )
    all_forms_of = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    url = models.CharField(max_length=MAX_URL)
    events = models.JSONField(default=list, db_default=[])
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    disabled_reason = models.CharField(max_length=200, blank=True)
    secret = EncryptedTextField(default=new_secret, editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_until = models.DateTimeField(null=True, blank=True, editable=False)
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    failure_count = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Failures since the last success."
    )
    in_flight_limit = models.PositiveSmallIntegerField(
        default=IN_FLIGHT, db_default=IN_FLIGHT, editable=False, help_text="Requests in flight, over all hosts."
    )
    probe_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Set while its circuit is open: the time of the next attempt."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())

    objects = WebhookQuerySet.as_manager()

    class Meta:
        constraints = [
            # NULLs are distinct: the first is about webhooks of a form, the second about those of all forms.
            models.UniqueConstraint(fields=["form", "url"], name="webhook_url_once_per_form"),
            models.UniqueConstraint(fields=["all_forms_of", "url"], name="webhook_url_once_for_all_forms"),
            models.CheckConstraint(
                name="webhook_serves_one_form_or_all",
                condition=models.Q(form__isnull=False, all_forms_of=None)
                | models.Q(form=None, all_forms_of__isnull=False),
            ),
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
        """Its organization. Of a form's webhook the form must be loaded with it."""
        found = self.all_forms_of_id if self.form is None else self.form.organization_id
        assert found is not None  # noqa: S101 - a constraint of the table
        return found

    @property
    def organization(self) -> Organization:
        """Its organization."""
        found = self.all_forms_of if self.form is None else self.form.organization
        assert found is not None  # noqa: S101 - a constraint of the table
        return found

    @property
    def scope(self) -> str:
        """The name of its form, or "All forms" in the reader's language."""
        return gettext(ALL_FORMS) if self.form is None else self.form.name

    @property
    def shown_reason(self) -> str:
        """The reason why it is disabled, in the reader's language; "" without one."""
        return gettext(self.disabled_reason)

    @property
    def subject(self) -> str:
        """Its name in the audit trail, which is English."""
        return f"{self.url} of {self.form or ALL_FORMS.lower()}"

    def secrets_at(self, moment: dt.datetime) -> list[str]:
        """Return the secrets that sign a message: both for 24 hours after a rotation."""
        in_grace = self.previous_secret_until is not None and moment < self.previous_secret_until
        return [self.secret, self.previous_secret] if in_grace else [self.secret]


class Destination(models.Model):
    """
    A service that receives submissions in its own format: a chat, a sheet, an HTTP endpoint with a template.

    `form` is empty for all forms of the organization, later ones too. `config` is the sealed JSON of the kind's
    settings, secrets among them (`webhooks/channels/destinations/`).
    """

    class Status(models.TextChoices):
        """A destination whose credentials were refused needs attention: its deliveries are held."""

        ACTIVE = "active", gettext_lazy("Active")
        DISABLED = "disabled", gettext_lazy("Disabled")
        NEEDS_ATTENTION = "needs_attention", pgettext_lazy("a state", "Needs attention")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, related_name="destinations", db_index=False
    )
    form = models.ForeignKey(Form, null=True, blank=True, on_delete=models.CASCADE, related_name="destinations")
    kind = models.CharField(max_length=20)
    name = models.CharField(max_length=200)
    config = SealedTextField(editable=False)
    status = models.CharField(max_length=20, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    disabled_reason = models.CharField(max_length=300, blank=True, default="", db_default="")
    quiet_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Nothing is sent before: its pace, or the receiver's wish."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())
    updated_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["organization", "-id"], name="destination_by_organization")]
        constraints = [
            models.CheckConstraint(
                name="destination_status_is_known",
                condition=models.Q(status__in=["active", "disabled", "needs_attention"]),
            ),
            models.CheckConstraint(
                name="destination_stopped_has_a_reason",
                condition=models.Q(status="active", disabled_reason="")
                | ~models.Q(status="active") & ~models.Q(disabled_reason=""),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def public_id(self) -> str:
        """The id as the API shows it."""
        return encode_id(Prefix.DESTINATION, self.id)

    @property
    def scope(self) -> str:
        """The name of its form, or "All forms" in the reader's language."""
        return gettext(ALL_FORMS) if self.form is None else self.form.name

    @property
    def shown_reason(self) -> str:
        """The reason why it is not active, in the reader's language; "" without one."""
        return gettext(self.disabled_reason) if self.disabled_reason else ""

    @property
    def subject(self) -> str:
        """Its name in the audit trail, which is English."""
        return f"{self.name} ({self.kind})"


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

    def not_leased(self) -> "DeliveryQuerySet":
        """Exclude deliveries that a worker is sending now."""
        return self.filter(models.Q(lease_until=None) | models.Q(lease_until__lt=Now()))

    def due(self) -> "DeliveryQuerySet":
        """Keep pending deliveries whose next attempt is due, without a live lease."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__lte=Now()).not_leased()

    def claimable(self, *, alone: bool = False) -> "DeliveryQuerySet":
        """Keep due deliveries that no claim holds: those to be sent by a separate process, or the others."""
        wanted = models.Q(lost_claims__gt=0) if alone else models.Q(lost_claims=0)
        return self.filter(wanted, status=Delivery.Status.PENDING, next_attempt_at__lte=Now(), lease_token__isnull=True)

    def abandoned(self) -> "DeliveryQuerySet":
        """Keep those whose lease has ended without a result: their deliverer is gone."""
        return self.filter(lease_token__isnull=False, lease_until__lt=Now())

    def waiting_for_resume(self) -> "DeliveryQuerySet":
        """Keep those that wait until their organization is no longer suspended."""
        return self.filter(status=Delivery.Status.PENDING, next_attempt_at__gte=UNTIL_RESUMED)


class Delivery(models.Model):
    """
    One message to one target of one channel.

    `target` names the receiver within its channel: a webhook's public id, a mail address, a destination's id. `host` is
    the receiving host, where there is one. `attempt_count` counts the present round; retry and replay start a new one.
    `key` keeps an event without a submission from being queued twice. `lost_claims` counts claims that ended without a
    result, since the last one that had one: above 0 it is sent by a separate process (docs/adr/0046).
    """

    class Status(models.TextChoices):
        """
        Held deliveries wait for a pending webhook, or a destination that needs attention.

        Canceled ones were spam, or their webhook or destination was disabled.
        """

        PENDING = "pending", gettext_lazy("Pending")
        HELD = "held", gettext_lazy("Held")
        DELIVERED = "delivered", gettext_lazy("Delivered")
        FAILED = "failed", gettext_lazy("Failed")
        CANCELED = "canceled", gettext_lazy("Canceled")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    account = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    submission = models.ForeignKey(
        Submission, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    webhook = models.ForeignKey(
        Webhook, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    destination = models.ForeignKey(
        Destination, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries", db_index=False
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
                name="delivery_by_webhook_has_one",
                condition=models.Q(channel="webhook", webhook__isnull=False)
                | ~models.Q(channel__in=["", "webhook"]) & models.Q(webhook=None),
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
                fields=["next_attempt_at"],
                condition=models.Q(status="pending", lost_claims__gt=0),
                name="delivery_due_alone",
            ),
            models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
            models.Index(fields=["message"], name="delivery_by_message"),
            models.Index(
                fields=["destination", "status"],
                condition=models.Q(destination__isnull=False),
                name="delivery_by_destination",
            ),
            models.Index(
                fields=["destination", "-id"],
                condition=models.Q(destination__isnull=False),
                name="delivery_log_of_destination",
            ),
            models.Index(fields=["account"], condition=models.Q(account__isnull=False), name="delivery_by_account"),
            models.Index(
                fields=["channel", "target"], condition=models.Q(lease_token__isnull=False), name="delivery_in_flight"
            ),
            models.Index(
                fields=["webhook"],
                condition=models.Q(status__in=["pending", "held"]),
                name="delivery_unsent_by_webhook",
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

    @property
    def shown_channel(self) -> str:
        """The channel as the API shows it: of a destination its kind."""
        return self.channel if self.destination is None else self.destination.kind

    @property
    def waits_for_resume(self) -> bool:
        """Return whether it waits until its organization is no longer suspended."""
        return self.next_attempt_at is not None and self.next_attempt_at >= UNTIL_RESUMED

    @property
    def waits_for_endpoint(self) -> bool:
        """Return whether it waits for its turn while the circuit of its endpoint is open. Reads the webhook."""
        probe_at = self.webhook.probe_at if self.webhook is not None else None
        return self.next_attempt_at is not None and probe_at is not None and self.next_attempt_at < probe_at

    @property
    def expected_at(self) -> dt.datetime | None:
        """The time of its next attempt; while it waits for its endpoint, the earliest one."""
        return self.webhook.probe_at if self.webhook is not None and self.waits_for_endpoint else self.next_attempt_at

    @property
    def event_label(self) -> str:
        """The name of its event in the log."""
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

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%S} {self.error or self.status}"


class DelivererSlots(models.Model):
    """
    A process that delivers, and how many requests it may have in flight: webhooks, and mails apart.

    Its heartbeat moves `alive_until`. The shares of organizations and hosts are parts of the sum of living processes.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, help_text="Host and process id.")
    slots = models.PositiveIntegerField()
    mail_slots = models.PositiveIntegerField()
    alive_until = models.DateTimeField()

    class Meta:
        verbose_name = "deliverer"

    def __str__(self) -> str:
        return self.name
