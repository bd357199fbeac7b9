"""The demo: an Enterprise organization, a user, an administrative key, a published form. Idempotent."""

import os
import secrets
from pathlib import Path

from allauth.account.models import EmailAddress
from django.conf import settings

from forms_app.actions import create_form
from forms_app.field_kinds import FieldType
from forms_app.models import Form
from forms_app.sign_up import create_organization
from keys.access_keys import issue_key, regenerate_key
from keys.authentication import find_key
from keys.models import AccessKey, Organization, User
from keys.plans import Plan

NAME = "Demo"
EMAIL = "demo@example.com"
KEY_NAME = "Demo, administrative"
FORM_NAME = "Contact"
FIELDS = [
    {"name": "name", "label": "Name", "type": FieldType.TEXT.value, "required": True},
    {"name": "email", "label": "Email", "type": FieldType.EMAIL.value, "required": True},
    {"name": "message", "label": "Message", "type": FieldType.TEXTAREA.value, "required": False},
]


def ensure_demo() -> str:
    """
    Create the missing parts of the demo, and return the text about it that `make run` prints.

    Key and password stay the same at every start.
    """
    stored = Path(settings.DATA_DIR, "demo-password")
    if is_new := not stored.exists():
        _write(stored, secrets.token_urlsafe(12))
    password = stored.read_text().strip()
    user = User.objects.filter(email=EMAIL).first() or User.objects.create_user(EMAIL, password, name="Demo")
    if is_new:
        user.set_password(password)
        user.save(update_fields=["password"])
    # A laptop has no mail server to verify the address with.
    EmailAddress.objects.update_or_create(user=user, email=EMAIL, defaults={"verified": True, "primary": True})
    organization = Organization.objects.filter(slug=NAME.lower()).first() or create_organization(
        name=NAME, owner=user, plan=Plan.ENTERPRISE
    )
    form = Form.objects.filter(organization=organization, name=FORM_NAME, status=Form.Status.PUBLISHED).first()
    form = form or create_form(organization=organization, name=FORM_NAME, fields=FIELDS, status=Form.Status.PUBLISHED)
    key = _ensure_key(organization)
    return (
        f"Dashboard  {settings.PUBLIC_URL}/dashboard/\n"
        f"Login      {EMAIL}  {password}\n"
        f"Key        {key}\n"
        f"Demo page  {settings.PUBLIC_URL}/demo/\n"
        f"API docs   {settings.PUBLIC_URL}/api/docs\n"
        "Try it:\n"
        f"curl -X POST '{settings.PUBLIC_URL}/api/submit?formId={form.public_id}'"
        f" -H 'x-access-key: {key}' -H 'Content-Type: application/json'"
        """ -d '{"name": "Ada", "email": "ada@example.com", "message": "Hello"}'"""
    )


def _ensure_key(organization: Organization) -> str:
    path = Path(settings.DATA_DIR, "demo-key")
    known = path.read_text().strip() if path.exists() else ""
    found = find_key(known) if known else None
    if found and found.organization_id == organization.pk and found.admin:
        return known
    existing = AccessKey.objects.usable().filter(organization=organization, name=KEY_NAME, admin=True).first()
    if existing:
        token = regenerate_key(existing, by=None)
    else:
        _, token = issue_key(organization=organization, name=KEY_NAME, by=None, admin=True)
    _write(path, token)
    return token


def _write(path: Path, text: str) -> None:
    """Write a secret to a file that only its owner can read, from the moment of its creation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{text}\n")
