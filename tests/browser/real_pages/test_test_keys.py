"""A page with a test key: the console says so, and what it sends is test data."""

import pytest
from playwright.sync_api import expect

from submissions.models import Submission
from tests.support.chromium.visitor import CONTACT, Visitor


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
