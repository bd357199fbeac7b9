"""Users, organizations, memberships, access keys, the audit trail, invitations."""

import datetime as dt
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower

from config.ids import Prefix, encode_id, new_id
from config.times import now
from keys import plans, tokens


class Permission(models.TextChoices):
    """The permissions of a key (docs/contract.md 3)."""

    FORMS_READ = "forms:read", "Read form data"
    FORMS_WRITE = "forms:write", "Create and modify forms"
    SUBMISSIONS_READ = "submissions:read", "Read submissions"
    SUBMISSIONS_EXPORT = "submissions:export", "Export submission data"
    WEBHOOKS_WRITE = "webhooks:write", "Manage webhooks"
    ANALYTICS_READ = "analytics:read", "View analytics"


class UserManager(BaseUserManager["User"]):
    """Finds users by email address, in any case."""

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
        """Create an operator of the installation."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)


class User(AbstractBaseUser, PermissionsMixin):
    """A person, who logs in by email address."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=200, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text="May enter the operators' admin.")
    date_joined = models.DateTimeField(default=now)

    objects: ClassVar[UserManager] = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique_whatever_case")]

    def __str__(self) -> str:
        return self.email


class Organization(models.Model):
    """The owner of forms, keys and webhooks, with a plan."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True)
    plan = models.CharField(max_length=20, choices=plans.Plan, default=plans.Plan.FREE)
    rate_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Requests an hour, instead of the Enterprise plan's own number."
    )
    members = models.ManyToManyField(User, through="Membership", related_name="organizations")
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.CheckConstraint(name="organization_plan_is_known", condition=models.Q(plan__in=plans.Plan.values)),
            models.CheckConstraint(
                name="organization_rate_limit_is_positive",
                condition=models.Q(rate_limit__isnull=True) | models.Q(rate_limit__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def hourly_limit(self) -> int:
        """Requests per hour."""
        return plans.hourly_limit(self.plan, self.rate_limit)

    @property
    def terms(self) -> plans.Terms:
        """The terms of the plan."""
        return plans.TERMS[plans.Plan(self.plan)]


class Role(models.TextChoices):
    """Owners and admins manage keys, webhooks, members and settings; members read submissions and edit forms."""

    OWNER = "owner", "Owner"
    ADMIN = "admin", "Admin"
    MEMBER = "member", "Member"


class Membership(models.Model):
    """A person's role in an organization."""

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "user"], name="membership_once_per_organization"),
            models.CheckConstraint(
                name="membership_role_is_known", condition=models.Q(role__in=["owner", "admin", "member"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role} of {self.organization}"


class AccessKeyQuerySet(models.QuerySet["AccessKey"]):
    def usable(self) -> "AccessKeyQuerySet":
        """Return the keys that are neither revoked nor expired."""
        today = dt.datetime.now(dt.UTC).date()
        return self.filter(revoked_at=None).exclude(expires_on__lt=today)


class AccessKey(models.Model):
    """
    An access key of an organization: secret (only its hash is stored) or publishable (public, stored in plain text).

    `admin` is a flag and not a permission: the key can manage keys (docs/contract.md 3).
    """

    class Kind(models.TextChoices):
        """Secret keys are for servers; publishable keys are for pages and can only submit."""

        SECRET = "secret", "Secret"
        PUBLISHABLE = "publishable", "Publishable"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="access_keys")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.SECRET)
    admin = models.BooleanField(default=False)
    permissions = models.JSONField(default=list, blank=True)
    expires_on = models.DateField(null=True, blank=True, help_text="The last day (UTC) on which the key works.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=40, editable=False)
    publishable_token = models.CharField(max_length=80, blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=now)
    secret_made_at = models.DateTimeField(default=now, editable=False, help_text="Creation, or the last regeneration.")
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
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint})"

    @property
    def public_id(self) -> str:
        """The id in the API."""
        return encode_id(Prefix.ACCESS_KEY, self.id)

    @property
    def hourly_limit(self) -> int:
        """Requests per hour of the organization's plan."""
        return self.organization.hourly_limit

    @property
    def is_publishable(self) -> bool:
        """Return whether the key is for pages."""
        return self.kind == self.Kind.PUBLISHABLE

    @property
    def is_expired(self) -> bool:
        """Return whether the key's last day (UTC) is over."""
        return self.expires_on is not None and self.expires_on < dt.datetime.now(dt.UTC).date()

    @property
    def is_usable(self) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return self.revoked_at is None and not self.is_expired

    def set_token(self, token: str) -> None:
        """Set the columns that derive from a token."""
        self.secret_made_at = now()
        self.digest = tokens.digest(token)
        self.hint = tokens.hint(token)
        self.publishable_token = token if self.is_publishable else ""


class AuditEvent(models.Model):
    """An action on keys, members, plans or exports: actor, action, subject, time. Never contains a secret."""

    organization = models.ForeignKey(
        Organization, on_delete=models.CASCADE, related_name="audit_events", db_index=False
    )
    user = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL)
    access_key = models.ForeignKey(AccessKey, null=True, blank=True, on_delete=models.SET_NULL)
    actor = models.CharField(
        max_length=254, blank=True, help_text="Who it was, for when they are gone. Empty: an operator's command."
    )
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes = [models.Index(fields=["organization", "-created_at"], name="audit_by_organization")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"


class Invitation(models.Model):
    """An invitation to an organization, sent by mail. Only the hash of the link's token is stored."""

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token.")
    invited_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "email"], name="invitation_once_per_organization"),
            models.CheckConstraint(
                name="invitation_role_is_known", condition=models.Q(role__in=["owner", "admin", "member"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} into {self.organization}"

    @property
    def is_open(self) -> bool:
        """Return whether it has not expired."""
        return self.expires_at > now()
