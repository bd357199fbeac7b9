"""Users, organizations, memberships, access keys, and the audit trail."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy, pgettext_lazy

from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from keys import plans, tokens
from keys.choices import Role


class UserQuerySet(models.QuerySet["User"]):
    """Ends the sessions of accounts that an update closes."""

    def update(self, **values: Any) -> int:
        if values.get("is_active") is False:
            values.setdefault("session_epoch", models.F("session_epoch") + 1)
        return super().update(**values)


class UserManager(BaseUserManager["User"]):
    def get_queryset(self) -> UserQuerySet:
        return UserQuerySet(self.model, using=self._db)

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this address. Raises User.DoesNotExist."""
        return self.get(email=(username or "").lower())

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create a user, who can set a password by mail if there is none."""
        user = self.model(email=email.lower(), **extra)  # lower case, so that the plain index finds it
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> "User":
        """Create an operator of the installation, and record it: the command `createsuperuser` is Django's own."""
        user = self.create_user(email, password, is_staff=True, is_superuser=True, **extra)
        rights = {"is_staff": [None, True], "is_superuser": [None, True]}
        AuditEvent.objects.create(action="operator.rights_changed", subject=user.email, changes=rights)
        return user


class User(AbstractBaseUser, PermissionsMixin):
    """A person, who logs in by email address."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=200, blank=True)
    is_active = models.BooleanField(default=True, db_default=True)
    is_staff = models.BooleanField(default=False, db_default=False, help_text="May enter the operators' admin.")
    date_joined = models.DateTimeField(default=now, db_default=Now())
    session_epoch = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Sessions of earlier epochs are ended."
    )
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="A name of the IANA database. Empty: not known yet; shown in UTC.",
    )
    language = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="One of LANGUAGES. Empty: pages in the browser's, mails in English.",
    )
    preferences = models.JSONField(
        default=dict, db_default={}, blank=True, editable=False, help_text="How this person wants the dashboard."
    )

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique_whatever_case")]

    def __str__(self) -> str:
        return self.email

    def save(self, *args: Any, **options: Any) -> None:
        """Save. Closing an account ends its sessions, so that they stay ended when it is opened again."""
        written = options.get("update_fields")
        if not self.is_active and not self._state.adding and (written is None or "is_active" in written):
            self.session_epoch += 1
            options |= {} if written is None else {"update_fields": {*written, "session_epoch"}}
        super().save(*args, **options)

    def get_session_auth_hash(self) -> str:
        """Return what a session must hold: it changes with the password and with the epoch."""
        return self._with_epoch(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        """Yield the same for SECRET_KEY_FALLBACKS."""
        yield from map(self._with_epoch, super().get_session_auth_fallback_hash())

    def _with_epoch(self, session_hash: str) -> str:
        return f"{self.session_epoch}.{session_hash}" if self.session_epoch else session_hash


class Organization(models.Model):
    """The owner of forms, keys and webhooks, with a plan."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True)
    plan = models.CharField(max_length=20, choices=plans.Plan, default=plans.Plan.FREE, db_default=plans.Plan.FREE)
    rate_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Requests an hour, instead of the Enterprise plan's own number."
    )
    second_step_required = models.BooleanField(
        default=False, db_default=False, help_text="Members enter with a passkey or an authenticator app only."
    )
    members = models.ManyToManyField(User, through="Membership", related_name="organizations")
    created_at = models.DateTimeField(default=now, db_default=Now())
    suspended_at = models.DateTimeField(null=True, blank=True)
    suspended_reason = models.CharField(
        max_length=300, blank=True, default="", db_default="", help_text="Shown to the organization's members."
    )
    stored_bytes = models.BigIntegerField(
        null=True,
        editable=False,
        help_text="Values and metadata of the dispatched submissions. Empty: not counted yet, the clean-up does.",
    )
    storage_limit = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Stored bytes, instead of the Enterprise plan's own number."
    )
    deletion_requested_at = models.DateTimeField(null=True, blank=True, editable=False)
    accent = models.CharField(
        max_length=7, blank=True, default="", db_default="", editable=False, help_text="Such as #0b6e4f. Empty: ours."
    )
    # Read with the form of every page; the picture itself is in its own table, so that rows stay small.
    logo_name = models.CharField(
        max_length=60, blank=True, default="", db_default="", editable=False, help_text="The name of its Logo, if any."
    )
    # Read with the form of every post: whether submissions are held must not cost a query.
    held_posts = models.PositiveIntegerField(
        default=0, db_default=0, editable=False, help_text="Submissions held until the hour has room."
    )

    class Meta:
        indexes = [
            models.Index(fields=["id"], condition=models.Q(suspended_at__isnull=False), name="organization_suspended"),
            models.Index(fields=["id"], condition=models.Q(held_posts__gt=0), name="organization_that_holds"),
        ]
        constraints = [
            models.CheckConstraint(name="organization_plan_is_known", condition=models.Q(plan__in=plans.Plan.values)),
            *(
                models.CheckConstraint(
                    name=f"organization_{limit}_is_positive",
                    condition=models.Q((f"{limit}__isnull", True)) | models.Q((f"{limit}__gt", 0)),
                )
                for limit in ("rate_limit", "storage_limit")
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def hourly_limit(self) -> int:
        """Requests per hour; only Enterprise can have a custom number."""
        custom = self.rate_limit if self.plan == plans.Plan.ENTERPRISE else None
        return custom or self.terms.hourly_requests

    @property
    def storage_allowance(self) -> int:
        """Bytes that the plan includes; only Enterprise can have a custom number."""
        custom = self.storage_limit if self.plan == plans.Plan.ENTERPRISE else None
        return custom or self.terms.stored_bytes

    @property
    def is_full(self) -> bool:
        """Return whether its submissions are refused: at one and a half times the allowance."""
        return (self.stored_bytes or 0) * 2 >= self.storage_allowance * 3

    @property
    def room_for_files(self) -> int:
        """Bytes of files that may still be stored, up to the allowance itself; negative if there are too many."""
        return self.storage_allowance - (self.stored_bytes or 0)

    @property
    def is_suspended(self) -> bool:
        return self.suspended_at is not None

    @property
    def terms(self) -> plans.Terms:
        return plans.TERMS[plans.Plan(self.plan)]


class Logo(models.Model):
    """The picture of an organization on its forms' pages and mails, as a PNG of at most 100 kB."""

    organization = models.OneToOneField(Organization, on_delete=models.CASCADE, primary_key=True, related_name="+")
    name = models.CharField(max_length=60, db_index=True, help_text="In its address: its hash, size and tone.")
    png = models.BinaryField()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER, db_default=Role.MEMBER)
    form_ids = models.JSONField(
        null=True, editable=False, help_text="The only forms that a viewer or member sees. Empty: all."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "user"], name="membership_once_per_organization"),
            models.CheckConstraint(
                name="membership_role_is_known", condition=models.Q(role__in=["owner", "admin", "member", "viewer"])
            ),
            models.CheckConstraint(
                name="membership_of_chosen_forms_manages_nothing",
                condition=models.Q(form_ids__isnull=True) | models.Q(role__in=["member", "viewer"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role} of {self.organization}"


class AccessKeyQuerySet(models.QuerySet["AccessKey"]):
    def usable(self) -> "AccessKeyQuerySet":
        today = dt.datetime.now(dt.UTC).date()
        return self.filter(revoked_at=None).exclude(expires_on__lt=today)


class AccessKey(models.Model):
    """
    An access key of an organization: secret (only its hash is stored) or publishable (public, stored in plain text).

    `admin` is a flag and not a permission: the key can manage keys (docs/contract.md 3). `mode`: whether what it
    submits and sees is live or test data (docs/contract.md 12).
    """

    class Kind(models.TextChoices):
        """Secret keys are for servers; publishable keys are for pages and can only submit."""

        SECRET = "secret", gettext_lazy("Secret")
        PUBLISHABLE = "publishable", gettext_lazy("Publishable")

    class Mode(models.TextChoices):
        LIVE = "live", pgettext_lazy("a mode", "Live")
        TEST = "test", pgettext_lazy("a mode", "Test")

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="access_keys")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.SECRET, db_default=Kind.SECRET)
    mode = models.CharField(max_length=4, choices=Mode, default=Mode.LIVE, db_default=Mode.LIVE)
    admin = models.BooleanField(default=False, db_default=False)
    permissions = models.JSONField(default=list, db_default=[], blank=True)
    expires_on = models.DateField(null=True, blank=True, help_text="The last day (UTC) on which the key works.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=40, editable=False)
    publishable_token = models.CharField(max_length=80, blank=True, default="", db_default="", editable=False)
    created_at = models.DateTimeField(default=now, db_default=Now())
    secret_made_at = models.DateTimeField(
        default=now, db_default=Now(), editable=False, help_text="Creation, or the last regeneration."
    )
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    browser_seen_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When this secret key last came from a browser."
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = AccessKeyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="publishable_key_is_readable_and_powerless",
                condition=models.Q(kind="secret", publishable_token="")
                | models.Q(kind="publishable", admin=False) & ~models.Q(publishable_token=""),
            ),
            models.CheckConstraint(
                name="test_key_is_not_administrative",
                condition=models.Q(mode="live") | models.Q(mode="test", admin=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint})"

    @property
    def public_id(self) -> str:
        return encode_id(Prefix.ACCESS_KEY, self.id)

    @property
    def hourly_limit(self) -> int:
        return self.organization.hourly_limit

    @property
    def is_suspended(self) -> bool:
        return self.organization.is_suspended

    @property
    def is_publishable(self) -> bool:
        return self.kind == self.Kind.PUBLISHABLE

    @property
    def is_test(self) -> bool:
        return self.mode == self.Mode.TEST

    @property
    def is_expired(self) -> bool:
        return self.expires_on is not None and self.expires_on < dt.datetime.now(dt.UTC).date()

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and not self.is_expired

    def set_token(self, token: str) -> None:
        self.secret_made_at = now()
        self.digest = tokens.digest(token)
        self.hint = tokens.hint(token)
        self.publishable_token = token if self.is_publishable else ""


class AuditEvent(models.Model):
    """
    An entry of the audit trail: actor, action, subject, old and new values, address, time. Never contains a secret.

    Of a person's own account, such as a login, it has no organization. An entry outlives organization, user and key.
    """

    organization = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.SET_NULL, related_name="audit_events", db_index=False
    )
    organization_ref = models.UUIDField(null=True, blank=True, help_text="Kept when the organization is deleted.")
    organization_name = models.CharField(max_length=200, blank=True, default="", db_default="")
    organization_slug = models.CharField(max_length=80, blank=True, default="", db_default="")
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, db_index=False)
    access_key = models.ForeignKey(AccessKey, null=True, blank=True, on_delete=models.SET_NULL)
    actor = models.CharField(
        max_length=254, blank=True, help_text="Who it was, for when they are gone. Empty: an operator's command."
    )
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=300, blank=True)
    changes = models.JSONField(null=True, blank=True, help_text="{name: [old, new]}")
    address = models.CharField(
        max_length=45, blank=True, default="", db_default="", help_text="The client's IP address."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["organization", "-created_at"], name="audit_by_organization"),
            models.Index(fields=["user", "-created_at"], name="audit_by_user"),
            models.Index(fields=["created_at"], name="audit_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
