"""A form that two users save: the second save finds out under the lock, however both were read."""

import pytest

from config.base.times import format_time
from forms_app.actions import StaleForm, change_form
from forms_app.models import Form
from tests.support.tenants import make_tenant, text_field

pytestmark = pytest.mark.django_db


def test_two_saves__of_the_version_that_both_have_read__are_one() -> None:
    tenant = make_tenant()
    tenant.form(fields=[])
    first, second = (Form.objects.get(organization=tenant.organization, is_default=False) for _ in range(2))
    seen = format_time(first.updated_at)
    saved = change_form(first, seen=seen, fields=[text_field("ann", required=False)])
    with pytest.raises(StaleForm):
        change_form(second, seen=seen, fields=[text_field("bob", required=False)])
    second.refresh_from_db()
    assert [field["name"] for field in second.fields] == ["ann"]
    change_form(second, seen=format_time(saved.updated_at), name="Seen")
    change_form(second, name="A program has seen nothing")
