"""The demo: an Enterprise organization, a user, an administrative key, a published form. Idempotent."""

import dataclasses
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


@dataclasses.dataclass(frozen=True, slots=True)
class Demo:
    """The login, the key and the form that `make run` prints."""

    email: str
    password: str
    key: str
    form: Form

    @property
    def curl(self) -> str:
        """A curl line that submits to the demo form."""
        return (
            f"curl -X POST '{settings.PUBLIC_URL}/api/submit?formId={self.form.public_id}'"
            f" -H 'x-access-key: {self.key}' -H 'Content-Type: application/json'"
            """ -d '{"name": "Ada", "email": "ada@example.com", "message": "Hello"}'"""
        )


def ensure_demo() -> Demo:
    """Create the missing parts of the demo and return it. Key and password stay the same at every start."""
    password, is_new = _kept("demo-password", secrets.token_urlsafe(12))
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
    return Demo(email=EMAIL, password=password, key=_ensure_key(organization), form=form)


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


def _kept(name: str, fresh: str) -> tuple[str, bool]:
    """Return the content of the file, and whether it was missing and is now written with `fresh`."""
    path = Path(settings.DATA_DIR, name)
    if path.exists():
        return path.read_text().strip(), False
    _write(path, fresh)
    return fresh, True


def _write(path: Path, text: str) -> None:
    """Write a secret to a file that only its owner can read, from the moment of its creation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{text}\n")
