"""Addresses of forms: whose they are, and how long one that was given up leads on, with the clock moved."""

import datetime as dt
from collections.abc import Iterator

import pytest
import time_machine
from django.db import DatabaseError, transaction
from django.urls import get_resolver

from config.api.errors import ApiError, Conflict
from config.base.times import now
from forms_app.actions import archive_form, change_form, create_form, duplicate_form
from forms_app.addresses import RESERVED, form_at
from forms_app.models import Form, FormerAddress
from submissions.lifecycle.closing import delete_organization
from submissions.lifecycle.erasure import erase_form
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.django_db

DAYS_90 = dt.timedelta(days=90)
MINUTE = dt.timedelta(minutes=1)


def make_form(address: str | None = None, *, of: Form | None = None) -> Form:
    """Return a form, of a new organization or of that of another form."""
    organization = of.organization if of else make_tenant().organization
    return create_form(organization=organization, name="Contact", status="published", address=address)


def moved(form: Form, *addresses: str | None) -> Form:
    for address in addresses:
        form = change_form(form, address=address)
    return form


def first_segments() -> Iterator[str]:
    """Yield what the paths of the service begin with, from the beginnings of their patterns."""
    for entry in get_resolver().url_patterns:
        for pattern in [entry, *getattr(entry, "url_patterns", [])] if str(entry.pattern) == "" else [entry]:
            literal = str(pattern.pattern).lstrip("^").partition("(")[0].partition("<")[0].partition("[")[0]
            yield literal.partition("/")[0].rstrip("?$").replace("\\", "")


def test_address__of_any_path_of_ours__is_reserved() -> None:
    found = {segment for segment in first_segments() if set(segment) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")}
    assert {"api", "dashboard", "docs", "submit"} <= found
    assert {segment for segment in found if len(segment) >= 3} - RESERVED == set()


@pytest.mark.parametrize(
    ("address", "code"),
    [
        *((text, "invalid") for text in ("ab", "a" * 65, "Contact", "a_b", "äöü", "a b", "a\nb", "abc\n")),
        *((text, "reserved") for text in ("thanks", "no-mails", "dashboard", "docs")),
    ],
)
def test_address__that_cannot_be_one__is_refused(address: str, code: str) -> None:
    form = make_form()
    with pytest.raises(ApiError) as refused:
        change_form(form, address=address)
    assert [(detail.field, detail.code) for detail in refused.value.details] == [("address", code)]
    with pytest.raises(ApiError):
        change_form(form, address=form.public_id)


@pytest.mark.parametrize(
    ("column", "text"), [("address", "ab"), ("address", "A-B"), ("address", ""), ("key", ""), ("key", "a_b")]
)
def test_text_of_another_alphabet__is_refused_by_the_database(column: str, text: str) -> None:
    form = make_form()
    with pytest.raises(DatabaseError), transaction.atomic():
        Form.objects.filter(pk=form.pk).update(**{column: text})


def test_address__of_another_organizations_form__is_taken() -> None:
    form = make_form("taken")
    with pytest.raises(Conflict, match="taken is taken"):
        make_form("taken")
    with pytest.raises(Conflict, match="taken is taken"):
        make_form("taken", of=form)


def test_address_that_was_given_up__leads_on_for_90_days__and_then_is_free_for_its_organization_alone() -> None:
    form = make_form("old")
    other = make_form(of=form)
    with time_machine.travel(now()) as clock:
        moved(form, "new")
        clock.shift(DAYS_90 - MINUTE)
        assert form_at("old") == form_at("new") == form
        with pytest.raises(Conflict, match="old leads to the form Contact until"):
            moved(other, "old")
        clock.shift(2 * MINUTE)
        assert (form_at("old"), form_at("new")) == (None, form)
        with pytest.raises(Conflict, match="old is taken"):
            make_form("old")
        moved(other, "old")
        assert form_at("old") == other


def test_form__keeps_its_newest_five__and_may_take_them_back() -> None:
    form = make_form("a-0")
    with time_machine.travel(now()) as clock:
        for number in range(1, 8):
            clock.shift(MINUTE)
            form = moved(form, f"a-{number}")
        assert [form_at(f"a-{number}") for number in range(8)] == [None, None, *[form] * 6]
        form = moved(form, "a-3")
        assert sorted(FormerAddress.objects.filter(form=form).values_list("pk", flat=True)) == [
            *("a-2", "a-4", "a-5", "a-6", "a-7")
        ]
        with pytest.raises(Conflict):
            make_form("a-0")
        other = make_form("a-0", of=form)
        clock.shift(DAYS_90)
        assert moved(form, "a-2").address == "a-2"
    assert form_at("a-0") == other


def test_archived_form__gives_its_address_up() -> None:
    form = make_form("spring")
    with time_machine.travel(now()) as clock:
        archive_form(form)
        form.refresh_from_db()
        assert (form.address, form_at("spring")) == (None, form)
        clock.shift(DAYS_90 + MINUTE)
        assert make_form("spring", of=form).address == "spring"
        with pytest.raises(Conflict):
            make_form("spring")


def test_address_of_an_erased_form__is_free_for_its_organization_alone() -> None:
    form = archive_form(make_form("spring"))
    keeper = make_form(of=form)
    assert erase_form(form, by=None)
    assert form_at("spring") is None
    with pytest.raises(Conflict):
        make_form("spring")
    assert moved(keeper, "spring").address == "spring"


def test_addresses_of_a_deleted_organization__are_nobodys() -> None:
    form = moved(make_form("older"), "newer")
    delete_organization(form.organization, by=None)
    for address in ("older", "newer"):
        assert form_at(address) is None
        with pytest.raises(Conflict):
            make_form(address)


def test_organization__that_gives_up_more_addresses_than_it_could_take_back__gets_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("forms_app.addresses.KEPT", 0)
    form = make_form("one")
    with pytest.raises(Conflict, match="has given up 0 addresses"):
        moved(form, "two")
    form.refresh_from_db()
    assert (form.address, form_at("one")) == ("one", form)


def test_address__that_stays__is_no_change() -> None:
    form = moved(make_form("same"), "same", "same")
    assert (form.address, FormerAddress.objects.filter(form=form).exists()) == ("same", False)


def test_copy__has_a_key_of_its_own_and_no_address() -> None:
    form = make_form("contact-us")
    copy = duplicate_form(form)
    assert (copy.key, copy.address) == ("contact-copy", None)
