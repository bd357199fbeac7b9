"""A mail is in the language of its reader's account, else in that of the form."""

import re

import pytest

from forms_app.models import Form
from keys.models import User
from tests.services.client import Client
from tests.services.receivers import Mail, MailReceiver
from tests.support.accounts import FORGOT, mailed_code
from tests.support.browser import Browser, person_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant


def root_of(mail: Mail) -> tuple[str, bool]:
    """Return the language of a mail's HTML, and whether it runs from right to left."""
    body = mail.message.get_body(("html",))
    assert body is not None
    tag = re.search(r'<html lang="(\w+)"([^>]*)>', str(body.get_content()))
    assert tag
    return tag[1], 'dir="rtl"' in tag[2]


@pytest.mark.parametrize(("chosen", "wanted"), [("de", ("de", False)), ("", ("ar", True)), ("xx", ("ar", True))])
def test_submission_of_an_arabic_form__is_mailed_in_the_language_of_the_account_first(
    api: Client, smtp: MailReceiver, chosen: str, wanted: tuple[str, bool]
) -> None:
    tenant = make_tenant()
    person = person_of(tenant)
    form_id = tenant.form(notification_recipients=[person.email], name="Contact")
    Form.objects.filter(organization=tenant.organization).update(language="ar")
    User.objects.filter(email=person.email).update(language=chosen)
    submit_and_get_id(api, tenant, form_id)
    assert root_of(smtp.wait_for(person.email)[0]) == wanted


def test_code__of_an_account_with_a_language__is_mailed_in_it(api: Client, smtp: MailReceiver) -> None:
    person = person_of(make_tenant())
    User.objects.filter(email=person.email).update(language="ar")
    Browser(api).send(FORGOT, email=person.email)
    assert mailed_code(smtp, person.email)
    assert root_of(smtp.to(person.email)[0]) == ("ar", True)
