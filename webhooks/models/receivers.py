"""The receivers of events: webhooks and destinations."""

import datetime as dt
import uuid
from typing import TypeVar

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_lazy, gettext_noop, pgettext_lazy

from config.ids import Prefix, encode_id, new_id
from config.secrets.encryption import EncryptedTextField, SealedTextField
from config.times import now
from forms_app.models import Form
from keys.models import Organization
from webhooks.signing import new_secret

MAX_URL = 2048  # characters
ALL_FORMS = gettext_noop("All forms")
IN_FLIGHT = 4  # requests in flight to a webhook that has not shown that it answers quickly


DELETED = gettext_noop("Deleted.")


Receiver = TypeVar("Receiver", bound=models.Model)


class PresentManager(models.Manager[Receiver]):
    """Leaves out those that are being deleted: their log goes in batches, and they last (`webhooks/retention.py`)."""

    def get_queryset(self) -> "models.QuerySet[Receiver]":
        return super().get_queryset().filter(deleted_at=None)


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

    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = PresentManager.from_queryset(WebhookQuerySet)()

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

    def hide(self) -> None:
        """Delete it for everybody but the clean-up. Its URL is free then, and its deliveries are canceled when due."""
        self.deleted_at, self.url = now(), f"deleted:{self.public_id}"
        self.status, self.disabled_reason = self.Status.DISABLED, DELETED
        self.save(update_fields=["deleted_at", "url", "status", "disabled_reason"])

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
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = PresentManager()

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

    def hide(self) -> None:
        """Delete it for everybody but the clean-up. Its deliveries are canceled when due."""
        self.deleted_at, self.status, self.disabled_reason = now(), self.Status.DISABLED, DELETED
        self.save(update_fields=["deleted_at", "status", "disabled_reason"])
