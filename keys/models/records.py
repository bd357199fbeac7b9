"""Invitations, notices, remembered answers, marks of the hour."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from config.base.times import now
from keys.choices import Role
from keys.models.owners import Organization, User


class HourMark(models.Model):
    """When an organization last reached a mark of its hour: 80, 90 or 100 percent (docs/contract.md 2.16)."""

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="hour_marks", db_index=False)
    percent = models.PositiveSmallIntegerField()
    reached_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organization", "percent"], name="hour_mark_once")]

    def __str__(self) -> str:
        return f"{self.percent} % of the hour of {self.organization_id}"


class RememberedAnswer(models.Model):
    """
    The answer to a POST that came with an `Idempotency-Key`, for its repetitions (docs/adr/0059).

    It has no secret: those are shown once. `status` is 0 until the transaction that inserted the row has its answer.
    """

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="+", db_index=False)
    request_sha256 = models.CharField(max_length=64, help_text="Of method, path and key.")
    body_sha256 = models.CharField(max_length=64, help_text="Of the request's raw body.")
    status = models.PositiveSmallIntegerField(default=0, db_default=0)
    answer = models.TextField(default="", db_default="", help_text="The JSON of the answer.")
    location = models.CharField(max_length=200, default="", db_default="")
    created_at = models.DateTimeField(default=now, db_default=Now(), db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "request_sha256"], name="answer_once_per_request")
        ]

    def __str__(self) -> str:
        return f"{self.status} of {self.organization_id}"


class Invitation(models.Model):
    """An invitation to an organization, sent by mail. Only the hash of the link's token is stored."""

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER, db_default=Role.MEMBER)
    form_ids = models.JSONField(
        null=True, editable=False, help_text="The only forms that a viewer or member sees. Empty: all."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False, help_text="SHA-256 of the token.")
    invited_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    makes_account = models.BooleanField(
        default=False, db_default=False, help_text="By an operator: also where SIGN_UP is closed."
    )
    created_at = models.DateTimeField(default=now, db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "email"], name="invitation_once_per_organization"),
            models.CheckConstraint(
                name="invitation_role_is_known", condition=models.Q(role__in=["owner", "admin", "member", "viewer"])
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} into {self.organization}"

    @property
    def is_open(self) -> bool:
        return self.expires_at > now()

    @property
    def takes_new_people(self) -> bool:
        """Return whether its link makes an account."""
        return self.makes_account or settings.SIGN_UP != "closed"


class Identity(models.Model):
    """A login of an OpenID issuer that opens an account. Issuers use a `sub` for one person only, never again."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities", db_index=False)
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255, help_text="The `sub` of its tokens.")
    created_at = models.DateTimeField(default=now, db_default=Now())

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once"),
            # A second `sub` with a person's address could be the next owner of that address.
            models.UniqueConstraint(fields=["user", "issuer"], name="identity_once_per_user_and_issuer"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class Notice(models.Model):
    """A mail to an organization's owners, or to one person. It waits here until dispatch queues its deliveries."""

    organization = models.ForeignKey(
        Organization, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    account = models.ForeignKey(User, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=60)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    once = models.CharField(max_length=200, null=True, blank=True, unique=True)
    created_at = models.DateTimeField(default=now, db_default=Now())
    dispatched_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="notice_has_one_receiver",
                condition=models.Q(organization__isnull=False, account__isnull=True)
                | models.Q(organization__isnull=True, account__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=models.Q(dispatched_at=None), name="notice_undispatched"),
            models.Index(fields=["created_at"], name="notice_by_age"),
        ]

    def __str__(self) -> str:
        return self.subject
