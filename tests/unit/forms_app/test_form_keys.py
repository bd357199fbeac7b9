"""Keys of forms: made from names, and unique in their organization."""

import importlib

import pytest
from django.apps import apps

from config.api.errors import ApiError, Conflict
from forms_app.actions import archive_form, change_form, create_form
from forms_app.models import Form
from keys.models import Organization
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db


def keys_of(organization: Organization) -> list[str]:
    return list(Form.objects.filter(organization=organization).order_by("id").values_list("key", flat=True))


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["Contact", "contact!", "Contact"], ["contact", "contact-2", "contact-3"]),
        (["نموذج", "問合せ"], ["form-2", "form-3"]),
        (["Form", "!"], ["form", "form-2"]),
        (["Über uns_2"], ["uber-uns-2"]),
        (["Inbox"], ["inbox-2"]),
        (["x" * 200, "x" * 199], ["x" * 56, f"{'x' * 56}-2"]),
    ],
)
def test_key__is_made_from_the_name(names: list[str], keys: list[str]) -> None:
    organization = make_tenant().organization
    for name in names:
        create_form(organization=organization, name=name)
    assert keys_of(organization) == ["inbox", *keys]


def test_key__of_another_form__is_taken__but_not_of_an_archived_one_or_another_organization() -> None:
    organization = make_tenant().organization
    first = create_form(organization=organization, name="A", key="mine")
    create_form(organization=make_tenant().organization, name="A", key="mine")
    with pytest.raises(Conflict, match="has the key mine"):
        create_form(organization=organization, name="B", key="mine")
    with pytest.raises(Conflict, match="has the key inbox"):
        change_form(first, key="inbox")
    archive_form(first)
    assert create_form(organization=organization, name="B", key="mine").key == "mine"


@pytest.mark.parametrize("key", ["", "A", "a_b", "a" * 65, "frm_01jd", "a\n"])
def test_key__of_another_alphabet__is_refused(key: str) -> None:
    form = create_form(organization=make_tenant().organization, name="A")
    with pytest.raises(ApiError) as refused:
        change_form(form, key=key)
    assert [(detail.field, detail.code) for detail in refused.value.details] == [("key", "invalid")]


def test_form__that_code_of_another_release_inserts__gets_a_key_from_the_database() -> None:
    organization = make_tenant().organization
    keys = {Form.objects.create(organization=organization, name="Old").key for _ in range(3)}
    assert {len(key) for key in keys} == {32}
    assert len(keys) == 3


def test_migration_0014__names_the_forms_that_there_are() -> None:
    organization = make_tenant().organization
    for name, status in [("Contact", "archived"), ("Contact", "draft"), ("Contact", "draft"), ("数", "draft")]:
        Form.objects.create(organization=organization, name=name, status=status)
    Form.objects.filter(organization=organization, is_default=True).update(key="random", name="Renamed")
    importlib.import_module("forms_app.migrations.0014_form_keys").name_forms(apps, None)
    assert keys_of(organization) == ["inbox", "contact-3", "contact", "contact-2", "form-2"]
