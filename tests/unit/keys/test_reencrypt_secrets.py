"""Secrets at rest: none is readable in the database, and each follows a new key."""

import secrets
from io import StringIO
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from config.clean_up import clean_up
from config.secrets.encryption import PREFIX
from forms_app.actions import change_form
from forms_app.models import Form
from forms_app.sign_up import create_organization
from forms_app.spam_protection import SpamProtection
from keys.models import User
from webhooks.models import Receiver

pytestmark = pytest.mark.django_db
OLD, NEW = "o" * 40, "n" * 40


def stored() -> dict[str, str]:
    """Return the columns of secrets as they are in the database."""
    columns = {
        "webhooks_receiver": ["secret", "previous_secret"],
        "forms_app_form": ["spam_protection"],
        "mfa_authenticator": ["data"],
    }
    found = {}
    with connection.cursor() as cursor:
        for table, names in columns.items():
            for name in names:
                cursor.execute(f"SELECT CAST({name} AS text) FROM {table}")
                found[f"{table}.{name}"] = " ".join(str(row[0]) for row in cursor.fetchall())
    return found


def furnish() -> tuple[Receiver, Form, Authenticator]:
    owner = User.objects.create_user(f"{secrets.token_hex(6)}@example.com")
    form = Form.objects.get(organization=create_organization(name=secrets.token_hex(6), owner=owner), is_default=True)
    change_form(
        form,
        spam_protection=SpamProtection(captcha="hcaptcha", captcha_site_key="s", captcha_secret="hushhush").stored(),
    )
    codes = RecoveryCodes.activate(owner).instance
    return (
        Receiver.objects.create(organization=form.organization, form=form, url="https://example.com/hook"),
        form,
        codes,
    )


def make_plain(_: Receiver, form: Form, codes: Authenticator) -> None:
    """Store the secrets as the last release did."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE webhooks_receiver SET secret = 'whsec_plain', previous_secret = 'whsec_older'")
    Form.objects.filter(pk=form.pk).update(spam_protection={"captcha": "hcaptcha", "captcha_secret": "hushhush"})
    Authenticator.objects.filter(pk=codes.pk).update(data={"seed": "ab" * 40, "used_mask": 5})


def readable(webhook: Receiver, form: Form, codes: Authenticator) -> tuple[Any, ...]:
    for row in (webhook, form, codes):
        row.refresh_from_db()
    protection = SpamProtection.of(form.spam_protection)
    return webhook.secret, webhook.previous_secret, protection.captcha_secret, RecoveryCodes(codes).generate_codes()


def run() -> str:
    out = StringIO()
    call_command("reencrypt_secrets", stdout=out)
    return out.getvalue()


def test_secrets__new__are_not_readable_in_the_database() -> None:
    rows = furnish()
    columns = " ".join(stored().values())
    assert rows[0].secret not in columns
    assert "hushhush" not in columns
    assert columns.count(PREFIX) == 3
    assert readable(*rows)[0].startswith("whsec_")


def test_clean_up__secrets_of_the_last_release__are_encrypted_and_keep_their_values() -> None:
    rows = furnish()
    make_plain(*rows)
    before = readable(*rows)
    clean_up()
    columns = " ".join(stored().values())
    assert not any(plain in columns for plain in ("whsec_plain", "whsec_older", "hushhush", "abab"))
    assert columns.count(PREFIX) == 4
    assert readable(*rows) == before
    rows[2].refresh_from_db()
    assert rows[2].data["used_mask"] == 5


def test_reencrypt_secrets__a_new_key_in_front__makes_the_old_one_superfluous(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    rows = furnish()
    before = readable(*rows)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert run().startswith("3 secrets encrypted")
    settings.ENCRYPTION_KEYS = [NEW]
    assert readable(*rows) == before
    unchanged = stored()
    assert run().startswith("0 secrets encrypted")
    assert stored() == unchanged


def test_reencrypt_secrets__a_lost_key__says_so_and_rewrites_the_others(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    _, form, _ = furnish()
    settings.ENCRYPTION_KEYS = [NEW]
    Form.objects.filter(pk=form.pk).update(spam_protection={"captcha_secret": "hushhush"})
    with pytest.raises(CommandError, match="2 secrets cannot be read with any key"):
        run()
    form.refresh_from_db()
    assert form.spam_protection["captcha_secret"].startswith(PREFIX)
    assert SpamProtection.of(form.spam_protection).captcha_secret == "hushhush"


def test_captcha_secret__that_no_key_reads__does_not_refuse_submissions(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    _, form, _ = furnish()
    settings.ENCRYPTION_KEYS = [NEW]
    assert SpamProtection.of(form.spam_protection).captcha_secret == ""


def test_secrets__encrypted_before_encryption_keys_were_set__stay_readable(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = []
    rows = furnish()
    before = readable(*rows)
    settings.ENCRYPTION_KEYS = [NEW]
    assert readable(*rows) == before
