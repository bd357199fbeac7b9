"""Permissions of keys, and roles of members."""

from django.db import models


class Permission(models.TextChoices):
    """The permissions of a key (docs/contract.md 3)."""

    FORMS_READ = "forms:read", "Read form data"
    FORMS_WRITE = "forms:write", "Create and modify forms"
    SUBMISSIONS_READ = "submissions:read", "Read submissions"
    SUBMISSIONS_EXPORT = "submissions:export", "Export submission data"
    WEBHOOKS_WRITE = "webhooks:write", "Manage webhooks"
    ANALYTICS_READ = "analytics:read", "View analytics"


class Role(models.TextChoices):
    """Owners and admins manage keys, webhooks, members and settings; members read submissions and edit forms."""

    OWNER = "owner", "Owner"
    ADMIN = "admin", "Admin"
    MEMBER = "member", "Member"
