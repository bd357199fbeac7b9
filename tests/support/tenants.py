"""Organizations, keys, forms and submissions for black-box tests, made by the code's own functions."""

import dataclasses
import itertools
import secrets
import time
from typing import Any

from django.db import transaction
from django.db.models.signals import pre_save
from django.dispatch import receiver

from config.api.ratelimit import end_of_hour
from config.base.ids import Prefix, encode_id, new_id
from config.base.times import now
from forms_app.actions import create_form
from forms_app.models import Form, Recipient
from forms_app.sign_up import create_organization
from forms_app.snippets import publishable_key
from keys.access_keys import ALL_PERMISSIONS, issue_key
from keys.models import AccessKey, Organization, User
from keys.plans import Plan

LASTS_SECONDS = 45 * 60  # longer than any test
_numbers = itertools.count(1)


@receiver(pre_save, sender=Organization)
def choose_hour(instance: Organization, **_: Any) -> None:
    """Give a new organization an id whose hour of requests does not end in the middle of a test."""
    while instance._state.adding and end_of_hour(instance.pk) - time.time() < LASTS_SECONDS:
        instance.pk = new_id()


@dataclasses.dataclass(frozen=True)
class Tenant:
    """An organization with an administrative secret key of all six permissions and its publishable key."""

    organization: Organization
    owner: User
    key: str
    publishable: str

    @property
    def test_publishable(self) -> str:
        return publishable_key(self.organization, AccessKey.Mode.TEST)

    @property
    def default_form_id(self) -> str:
        form = Form.objects.get(organization=self.organization, is_default=True)
        return encode_id(Prefix.FORM, form.pk)

    def issue(self, *permissions: str, admin: bool = False, **options: Any) -> str:
        """Return a new secret key with exactly these permissions."""
        _, token = issue_key(
            organization=self.organization, name="Test", by=None, permissions=permissions, admin=admin, **options
        )
        return token

    def form(self, *, published: bool = True, **values: Any) -> str:
        """Return the id of a new form, published by default. Its recipients have confirmed their address."""
        status = Form.Status.PUBLISHED if published else Form.Status.DRAFT
        with transaction.atomic():
            form = create_form(organization=self.organization, **{"name": "Contact", "status": status, **values})
            for address in form.notification_recipients:
                confirmed = {"confirmed_at": now()}
                Recipient.objects.get_or_create(form=form, email=address.lower(), defaults=confirmed)
        return form.public_id


def make_tenant(plan: Plan = Plan.ENTERPRISE) -> Tenant:
    """Return a fresh organization. Its name is unique over processes that share a database."""
    name = f"Test {next(_numbers)} {secrets.token_hex(6)}"
    with transaction.atomic():  # one write to the disk instead of six, in thousands of tests
        owner = User.objects.create_user(f"{secrets.token_hex(8)}@example.com")
        organization = create_organization(name=name, owner=owner, plan=plan)
        _, key = issue_key(
            organization=organization, name="Administrative", by=None, permissions=ALL_PERMISSIONS, admin=True
        )
    return Tenant(organization, owner, key, publishable_key(organization))


UNHURRIED: dict[str, Any] = {"spam_protection": {"minimum_seconds": 0}}  # of a form that tests fill in in no time


def text_field(name: str, **values: Any) -> dict[str, Any]:
    """Return a field definition as the API takes it."""
    return {"name": name, "label": name.capitalize(), "type": "Text", **values}
