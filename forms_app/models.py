"""Forms, and the consent of the people that they mail."""

from collections.abc import Callable
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Func, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Length, Now
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual
from django.utils.translation import gettext_lazy

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from config.migration_operations.random_text import RandomText
from keys.branding.brand import Brand, brand_of
from keys.models import Organization
from keys.plans import Plan

# Characters of the texts of a hosted page.
MAX_DESCRIPTION = 1000
MAX_BUTTON_LABEL = 60
MAX_RETURN_URL = 2048
MAX_BLOCKED_REASON = 300
ENGLISH = "en"

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"  # of keys and addresses
MAX_KEY = 64  # characters
MIN_ADDRESS, MAX_ADDRESS = 3, 64  # characters
MAX_SENDER_NAME = 60  # characters


def pages_url() -> str:
    """Return where the pages of forms are."""
    return str(settings.PAGES_URL or settings.PUBLIC_URL)


def _has_only_letters(column: str) -> Exact:
    """Return the condition that a column has no character besides LETTERS, in SQL that both databases have."""
    return Exact(Func(F(column), Value(LETTERS), function="LTRIM", output_field=models.CharField()), Value(""))


class FormQuerySet(models.QuerySet["Form"]):
    # Submissions are an app above this one: its AppConfig sets the expression that counts those of a form.
    count_submissions: ClassVar[Callable[[], Combinable]]

    def with_submission_count(self) -> "FormQuerySet":
        """Add `submission_count`: the number of stored submissions without spam."""
        return self.annotate(submission_count=type(self).count_submissions())


class Form(models.Model):
    """
    A form of an organization: draft, published or archived (docs/contract.md 4).

    One form of each organization is the default: it receives submissions without a form id.
    """

    class Status(models.TextChoices):
        """Only published forms accept submissions."""

        DRAFT = "draft", gettext_lazy("Draft")
        PUBLISHED = "published", gettext_lazy("Published")
        ARCHIVED = "archived", gettext_lazy("Archived")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="forms", db_index=False)
    name = models.CharField(max_length=200)
    key = models.CharField(max_length=MAX_KEY, db_default=RandomText(), help_text="Its name for programs.")
    address = models.CharField(  # noqa: DJ001 - one empty address would be unique too
        max_length=MAX_ADDRESS, null=True, blank=True, help_text="In the address of its page, in the place of its id."
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT, db_default=Status.DRAFT)
    is_default = models.BooleanField(default=False, db_default=False)
    fields = models.JSONField(default=list, db_default=[], blank=True, help_text="A list of field definitions.")
    allowed_origins = models.JSONField(default=list, db_default=[], blank=True, help_text="Empty: every origin.")
    redirect_url = models.CharField(max_length=2048, blank=True)
    success_message = models.CharField(max_length=1000, blank=True)
    description = models.CharField(
        max_length=MAX_DESCRIPTION,
        blank=True,
        default="",
        db_default="",
        help_text="Above the fields of the hosted page.",
    )
    button_label = models.CharField(
        max_length=MAX_BUTTON_LABEL, blank=True, default="", db_default="", help_text="Of the hosted page. Empty: Send."
    )
    return_url = models.CharField(
        max_length=MAX_RETURN_URL, blank=True, default="", db_default="", help_text="Linked from the thank-you page."
    )
    language = models.CharField(
        max_length=10,
        choices=settings.LANGUAGES,
        default=ENGLISH,
        db_default=ENGLISH,
        help_text="Of the hosted page, and of mails to recipients who have not chosen one.",
    )
    sender_name = models.CharField(
        max_length=MAX_SENDER_NAME,
        blank=True,
        default="",
        db_default="",
        help_text="Before the name of the service in mails to submitters.",
    )
    reply_to = models.EmailField(
        max_length=254, blank=True, default="", db_default="", help_text="One of the recipients, or empty."
    )
    accent = models.CharField(
        max_length=7, blank=True, default="", db_default="", help_text="Such as #0b6e4f. Empty: the organization's."
    )
    logo_name = models.CharField(
        max_length=60, blank=True, default="", db_default="", editable=False, help_text="The name of its FormLogo."
    )
    powered_by = models.BooleanField(default=True, db_default=True, help_text="Whether its pages name the service.")
    # words: allow for ever because landed migrations contain this help_text
    retention_days = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: kept for ever.")
    spam_protection = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="See SpamProtection; empty: its defaults."
    )
    notification_recipients = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Addresses mailed per submission."
    )
    reply = models.JSONField(null=True, blank=True, help_text="See Reply; empty: it was never set.")
    confirmation = models.BooleanField(
        default=False, db_default=False, help_text="Whether submitters confirm their address first."
    )
    reply_cut_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When a reply first lacked its links, and the owners were mailed.",
    )
    blocked_at = models.DateTimeField(null=True, blank=True, editable=False)
    blocked_reason = models.CharField(
        max_length=MAX_BLOCKED_REASON, blank=True, default="", db_default="", editable=False
    )
    created_at = models.DateTimeField(default=now, db_default=Now())
    updated_at = models.DateTimeField(default=now, db_default=Now())
    published_at = models.DateTimeField(null=True, blank=True)
    # words: allow for good because landed migrations contain this help_text
    erase_requested_at = models.DateTimeField(null=True, blank=True, help_text="Set: it is being erased for good.")

    objects = FormQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization"], condition=models.Q(is_default=True), name="form_one_default_per_organization"
            ),
            models.UniqueConstraint(
                fields=["organization", "key"],
                condition=~models.Q(status="archived"),
                name="form_key_once_per_organization",
            ),
            models.UniqueConstraint(fields=["address"], name="form_address_once"),
            models.CheckConstraint(
                name="form_key_is_of_its_letters",
                condition=models.Q(_has_only_letters("key"), GreaterThan(Length("key"), Value(0))),
            ),
            models.CheckConstraint(
                name="form_address_is_of_its_letters",
                condition=models.Q(
                    _has_only_letters("address"), GreaterThanOrEqual(Length("address"), Value(MIN_ADDRESS))
                ),
            ),
            models.CheckConstraint(
                name="form_status_is_known", condition=models.Q(status__in=["draft", "published", "archived"])
            ),
            models.CheckConstraint(
                name="form_default_is_published", condition=models.Q(is_default=False) | models.Q(status="published")
            ),
            models.CheckConstraint(
                name="form_erased_is_archived",
                condition=models.Q(erase_requested_at=None) | models.Q(status="archived"),
            ),
            models.CheckConstraint(
                name="form_published_has_a_date",
                condition=~models.Q(status="published") | models.Q(published_at__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["organization", "-id"], name="form_by_organization")]

    def __str__(self) -> str:
        return self.name

    @property
    def is_unavailable(self) -> bool:
        """Return whether an operator has blocked it, or suspended its organization: it takes nothing."""
        return self.blocked_at is not None or self.organization.is_suspended

    @property
    def public_id(self) -> str:
        return encode_id(Prefix.FORM, self.id)

    @property
    def brand(self) -> Brand:
        """The accent and logo of its pages and of mails to its submitters: its own, else the organization's."""
        return brand_of(self.organization, accent=self.accent, logo_name=self.logo_name)

    @property
    def names_service(self) -> bool:
        """Return whether its pages say who runs them; on Free they always do, whatever was set on another plan."""
        return self.powered_by or self.organization.plan == Plan.FREE

    @property
    def segment(self) -> str:
        """The part of its page's path behind `/f/`: its address, else its id, which always works as well."""
        return self.address or self.public_id

    @property
    def url(self) -> str:
        return f"{pages_url()}/f/{self.segment}"


class FormerAddress(models.Model):
    """
    An address that a form has given up, and that belongs to its organization from then on.

    It outlives form and organization: an address that was printed somewhere never leads to somebody else.
    """

    address = models.CharField(max_length=MAX_ADDRESS, primary_key=True)
    organization = models.ForeignKey(Organization, null=True, on_delete=models.SET_NULL, related_name="+")
    form = models.ForeignKey(
        Form,
        null=True,
        on_delete=models.SET_NULL,
        related_name="former_addresses",
        help_text="Where it leads. Empty: nowhere any more.",
    )
    given_up_at = models.DateTimeField(default=now, db_default=Now())

    def __str__(self) -> str:
        return self.address


class FormLogo(models.Model):
    """The picture of a form on its pages and mails, as a PNG of at most 100 kB."""

    form = models.OneToOneField(Form, on_delete=models.CASCADE, primary_key=True, related_name="+")
    name = models.CharField(max_length=60, db_index=True, help_text="In its address: its hash, size and tone.")
    png = models.BinaryField()

    def __str__(self) -> str:
        return self.name


class Recipient(models.Model):
    """
    The consent of one address to the mails of one form.

    `Form.notification_recipients` says who is wanted. A row remains when an address is removed there, so that a stop
    still holds when it is added again. `email` is in lower case. Members of the organization need no row.
    """

    form = models.ForeignKey(Form, on_delete=models.CASCADE, related_name="recipients", db_index=False)
    email = models.EmailField(max_length=254)
    digest = models.CharField(
        max_length=64, null=True, blank=True, unique=True, editable=False, help_text="SHA-256 of the latest token."
    )
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When a mail last asked for confirmation.")
    asked_count = models.PositiveIntegerField(default=0, db_default=0)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    stopped_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["form", "email"], name="recipient_once_per_form"),
        ]
        indexes = [models.Index(fields=["email", "asked_at"], name="recipient_by_email")]

    def __str__(self) -> str:
        return f"{self.email} of {self.form_id}"


class RecipientQuestion(models.Model):
    """
    A mail that asked a recipient to confirm, for the caps of a day.

    It outlives form and organization, so that deleting either makes no room. `mailbox` is a keyed hash.
    """

    organization_ref = models.UUIDField()
    mailbox = models.CharField(max_length=64)
    asked_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)

    class Meta:
        indexes = [
            models.Index(fields=["mailbox", "asked_at"], name="question_by_mailbox"),
            models.Index(fields=["organization_ref", "asked_at"], name="question_by_organization"),
        ]

    def __str__(self) -> str:
        return f"a question of {self.organization_ref}"


class OptOut(models.Model):
    """
    A mailbox that wants no more mails about what it submitted to an organization: no replies, no confirmations.

    `email`: as `forms_app.consent.addresses.mailbox_of` returns it.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    email = models.EmailField(max_length=254)
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "email"], name="opt_out_once_per_organization"),
        ]

    def __str__(self) -> str:
        return self.email


class FormReport(models.Model):
    """A visitor's report of a hosted form, for the operators. It outlives the form and its organization."""

    form = models.ForeignKey(Form, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    form_name = models.CharField(max_length=200)
    organization_slug = models.CharField(max_length=80)
    reason = models.TextField(max_length=2000)
    address = models.CharField(max_length=45, blank=True, help_text="The visitor's IP address.")
    created_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)
    handled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.form_name} of {self.organization_slug}"
