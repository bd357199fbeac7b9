"""The receivers of submissions: webhooks, and the services of every other kind."""

import datetime as dt
import json
from collections.abc import Collection
from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext_lazy

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from config.secrets.encryption import EncryptedTextField, SealedTextField, decrypt
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission
from webhooks.signing import new_secret

WEBHOOK, DESTINATION = "webhook", "destination"  # the words of the API and the audit trail; the first is also a kind
MAX_URL = 2048  # characters
ALL_FORMS = gettext_noop("All forms")
IN_FLIGHT = 4  # requests in flight to a webhook that has not shown that it answers quickly
DELETED = gettext_noop("Deleted.")


class ReceiverQuerySet(models.QuerySet["Receiver"]):
    """Receivers by their resource of the API, and by the forms that they serve."""

    def webhooks(self) -> "ReceiverQuerySet":
        return self.filter(kind=WEBHOOK)

    def destinations(self) -> "ReceiverQuerySet":
        return self.exclude(kind=WEBHOOK)

    def serving(self, form: Form) -> "ReceiverQuerySet":
        """Keep those that receive a form's submissions: its own, and those of all forms of its organization."""
        return self.filter(models.Q(form=form) | models.Q(form=None, organization=form.organization_id))

    def serving_any(self, rows: Collection[Submission]) -> "ReceiverQuerySet":
        """Keep those that may receive one of these submissions, the oldest first."""
        forms, organizations = {row.form_id for row in rows}, {row.organization_id for row in rows}
        of_any = models.Q(form__in=forms) | models.Q(form=None, organization__in=organizations)
        return self.filter(of_any).order_by("pk")


class PresentManager(models.Manager["Receiver"]):
    """Leaves out those that are being deleted: their log goes in batches, and they last (`webhooks/retention.py`)."""

    def get_queryset(self) -> "models.QuerySet[Receiver]":
        return super().get_queryset().filter(deleted_at=None)


class Receiver(models.Model):
    """
    A receiver of submissions: a customer's endpoint (a webhook), a chat, a sheet, an address with a template.

    `form` is empty for all forms of the organization, later ones too (docs/adr/0084). A webhook has a URL, the events
    that it receives, secrets that sign them, and the health of its endpoint. A receiver of every other kind has a name,
    `config`, the sealed JSON of the kind's settings (`webhooks/kinds/`), and a pace.
    """

    class Status(models.TextChoices):
        """
        Nothing is sent to a pending one, a webhook that a page named, until an owner or admin activates it.

        One whose credentials were refused needs attention. The deliveries of both are held.
        """

        ACTIVE = "active", gettext_lazy("Active")
        PENDING = "pending", gettext_lazy("Pending")
        DISABLED = "disabled", gettext_lazy("Disabled")
        NEEDS_ATTENTION = "needs_attention", pgettext_lazy("a state", "Needs attention")

    class Mode(models.TextChoices):
        """Which submissions it receives."""

        LIVE = "live", gettext_lazy("Live submissions")
        TEST = "test", gettext_lazy("Test submissions")
        BOTH = "both", gettext_lazy("Live and test submissions")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="receivers", db_index=False)
    form = models.ForeignKey(Form, null=True, blank=True, on_delete=models.CASCADE, related_name="receivers")
    kind = models.CharField(max_length=20, default=WEBHOOK, db_default=WEBHOOK)
    mode = models.CharField(max_length=4, choices=Mode, default=Mode.LIVE, db_default=Mode.LIVE)
    status = models.CharField(max_length=20, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    disabled_reason = models.CharField(max_length=300, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=now, db_default=Now())
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Of webhooks
    url = models.CharField(max_length=MAX_URL, blank=True, default="", db_default="")
    events = models.JSONField(default=list, db_default=[])
    secret = EncryptedTextField(blank=True, default=new_secret, editable=False)
    previous_secret = EncryptedTextField(blank=True, default="", db_default="", editable=False)
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
    # Of every other kind
    name = models.CharField(max_length=200, blank=True, default="", db_default="")
    config = SealedTextField(blank=True, default="", db_default="", editable=False)
    quiet_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Nothing is sent before: its pace, or the receiver's wish."
    )

    objects = PresentManager.from_queryset(ReceiverQuerySet)()

    class Meta:
        indexes = [models.Index(fields=["organization", "-id"], name="receiver_by_organization")]
        constraints = [
            models.UniqueConstraint(
                fields=["form", "url"], condition=models.Q(kind="webhook"), name="webhook_url_once_per_form"
            ),
            models.UniqueConstraint(
                fields=["organization", "url"],
                condition=models.Q(kind="webhook", form=None),
                name="webhook_url_once_for_all_forms",
            ),
            models.CheckConstraint(
                name="receiver_status_is_of_its_kind",
                condition=models.Q(status__in=["active", "disabled"])
                | models.Q(kind="webhook", status="pending")
                | ~models.Q(kind="webhook") & models.Q(status="needs_attention"),
            ),
            models.CheckConstraint(
                name="receiver_stopped_has_a_reason",
                condition=models.Q(status__in=["active", "pending"], disabled_reason="")
                | ~models.Q(status__in=["active", "pending"]) & ~models.Q(disabled_reason=""),
            ),
            models.CheckConstraint(
                name="receiver_is_a_webhook_or_has_a_config",
                condition=models.Q(kind="webhook", config="") & ~models.Q(url="")
                | ~models.Q(kind="webhook") & models.Q(url="") & ~models.Q(config=""),
            ),
        ]

    def __str__(self) -> str:
        return self.url if self.is_webhook else self.name

    @property
    def is_webhook(self) -> bool:
        """Whether its messages are signed, and its endpoint has a circuit."""
        return self.kind == WEBHOOK

    @property
    def channel(self) -> str:
        """Its word in the API, the log and the audit trail: a webhook or a destination."""
        return WEBHOOK if self.is_webhook else DESTINATION

    @property
    def public_id(self) -> str:
        return encode_id(Prefix.WEBHOOK if self.is_webhook else Prefix.DESTINATION, self.id)

    @property
    def scope(self) -> str:
        """The name of its form, or "All forms" in the reader's language."""
        return gettext(ALL_FORMS) if self.form is None else self.form.name

    @property
    def shown_reason(self) -> str:
        """The reason why nothing is sent, in the reader's language; "" without one."""
        return gettext(self.disabled_reason) if self.disabled_reason else ""

    @property
    def subject(self) -> str:
        """Its name in the audit trail, which is English."""
        return f"{self.url} of {self.form or ALL_FORMS.lower()}" if self.is_webhook else f"{self.name} ({self.kind})"

    def takes(self, submission: Submission) -> bool:
        """Return whether it receives the submissions of this one's mode."""
        return self.mode == self.Mode.BOTH or (self.mode == self.Mode.TEST) == submission.is_test

    def settings(self) -> dict[str, Any]:
        """Return the settings of its kind, secrets too. Raises CannotDecrypt."""
        settings: dict[str, Any] = {"url": self.url} if self.is_webhook else json.loads(decrypt(self.config))
        return settings

    def hide(self) -> None:
        """Delete it for everybody but the clean-up. Its URL is free then, and its deliveries are canceled when due."""
        self.deleted_at, self.url = now(), f"deleted:{self.public_id}" if self.is_webhook else ""
        self.status, self.disabled_reason = self.Status.DISABLED, DELETED
        self.save(update_fields=["deleted_at", "url", "status", "disabled_reason"])

    def secrets_at(self, moment: dt.datetime) -> list[str]:
        """Return the secrets that sign a message: both for 24 hours after a rotation."""
        in_grace = self.previous_secret_until is not None and moment < self.previous_secret_until
        return [self.secret, self.previous_secret] if in_grace else [self.secret]


_ACTIVE, _PENDING, _DISABLED, _NEEDS_ATTENTION = Receiver.Status.choices
WEBHOOK_STATUSES = [_ACTIVE, _PENDING, _DISABLED]
DESTINATION_STATUSES = [_ACTIVE, _DISABLED, _NEEDS_ATTENTION]
