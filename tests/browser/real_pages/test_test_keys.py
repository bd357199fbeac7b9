"""A page with a test key: the console says so, and what it sends is test data, its files too."""

import pytest
from playwright.sync_api import FilePayload, expect

from config.base.ids import Prefix, decode_id
from forms_app.models import Form
from submissions.models import Submission
from tests.support.chromium.visitor import CONTACT, Visitor
from tests.support.posted_files import PDF, file_field
from tests.support.tenants import text_field

FORM = '<form><input name="name"><input type="file" name="cv" aria-label="CV"><button>Send</button></form>'
WORDS: FilePayload = {"name": "CV.pdf", "mimeType": "application/pdf", "buffer": PDF}


@pytest.mark.parametrize(("kind", "types"), [("test", ["warning"]), ("secret", ["error", "warning"]), ("live", [])])
def test_console__of_a_page__says_once_that_its_key_is_a_test_key(
    plain_visitor: Visitor, kind: str, types: list[str]
) -> None:
    visitor = plain_visitor
    visitor.forgives = ["test key", "secret key"]
    tenant = visitor.tenant
    keys = {"test": tenant.test_publishable, "secret": tenant.issue(mode="test"), "live": tenant.publishable}
    visitor.open(CONTACT, tag=visitor.tag(**{"data-key": keys[kind]}))
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    said = [one for one in visitor.complaints if "test key" in one or "secret key" in one]
    assert [one.partition(":")[0] for one in said] == types
    stored = Submission.objects.get(organization=tenant.organization)
    assert stored.is_test is (kind != "live")


def test_files__of_a_page_with_a_test_key__are_test_data(plain_visitor: Visitor) -> None:
    """The form's origins leave this page out: only test mode takes its files, from a developer's own machine."""
    visitor = plain_visitor
    visitor.forgives = ["test key"]
    form_id = visitor.tenant.form(
        fields=[text_field("name", required=False), file_field()], allowed_origins=["https://shop.example"]
    )
    page = visitor.open(FORM, tag=visitor.tag(form_id, **{"data-key": visitor.tenant.test_publishable}))
    page.locator("[name=cv]").set_input_files([WORDS])
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    stored = Submission.objects.get(form=Form.objects.get(pk=decode_id(Prefix.FORM, form_id)))
    assert (stored.is_test, stored.data["cv"]) == (True, "CV.pdf")
