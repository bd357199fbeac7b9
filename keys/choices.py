"""Permissions of keys, and roles of members."""

from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import get_language, gettext_lazy

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Permission(models.TextChoices):
    """The permissions of a key (docs/contract.md 3)."""

    FORMS_READ = "forms:read", gettext_lazy("Read form data")
    FORMS_WRITE = "forms:write", gettext_lazy("Create and modify forms")
    SUBMISSIONS_READ = "submissions:read", gettext_lazy("Read submissions")
    SUBMISSIONS_EXPORT = "submissions:export", gettext_lazy("Export submission data")
    WEBHOOKS_WRITE = "webhooks:write", gettext_lazy("Manage webhooks")
    ANALYTICS_READ = "analytics:read", gettext_lazy("View analytics")


class Role(models.TextChoices):
    """Owners and admins manage keys, webhooks, members and settings; members edit forms; viewers only read."""

    OWNER = "owner", gettext_lazy("Owner")
    ADMIN = "admin", gettext_lazy("Admin")
    MEMBER = "member", gettext_lazy("Member")
    VIEWER = "viewer", gettext_lazy("Viewer")


def within_sentence(label: "StrOrPromise") -> str:
    """Return a label as it is written within a sentence: small in English, unchanged in other languages."""
    is_english = (get_language() or "en").startswith("en")
    return str(label).lower() if is_english else str(label)
