"""Lists of submissions: searches, tabs and chips, chosen columns, and actions on everything that the filters select."""

import datetime as dt
import re

import pytest

from config.base.ids import Prefix, decode_id
from config.base.times import now
from forms_app.models import Form
from keys.models import User
from submissions.lifecycle.erasure import erase_form
from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.support.browser import Browser, logged_in, markup_of, member_of, place, text_of
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant, make_tenant, text_field

PAGE = 25


@pytest.fixture
def browser(api: Client, tenant: Tenant) -> Browser:
    return logged_in(api, member_of(tenant.organization, "member"))


def shown(answer: Answer) -> list[str]:
    return re.findall(r'name="id" value="(sub_\w+)"', markup_of(answer))


def input_of(answer: Answer, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', markup_of(answer))
    assert found, name
    return found[1]


def test_search__words_and_ids__find_what_holds_all_of_them(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form()
    ids = {
        "both": put(tenant, form_id, {"name": "Ada Lovelace", "city": "London"}),
        "name": put(tenant, form_id, {"name": "Ada Byron", "city": "Paris"}),
        "city": put(tenant, form_id, {"name": "Alan", "city": "London, or ada"}),
        "spam": put(tenant, form_id, {"name": "Ada", "city": "London"}, spam=True),
    }
    elsewhere = put(make_tenant(), tenant.form(), {"name": "Ada", "city": "London"})

    def found(query: str) -> set[str]:
        answer = browser.get(place(tenant, f"submissions?{query}"))
        return {name for name, pk in ids.items() if pk in shown(answer)}

    assert found("q=LONDON+ada") == {"both", "city"}
    assert found("q=ada+london+x1") == set()
    assert found("q=%22or+ada%22") == {"city"}
    assert found("q=ada+london&spam=true") == {"spam"}
    assert found(f"q={ids['spam']}") == {"spam"}
    assert found(f"q={ids['name']}&from=2030-01-01&form={tenant.form()}") == {"name"}
    assert shown(browser.get(place(tenant, f"submissions?q={elsewhere}"))) == []
    many = browser.get(place(tenant, f"submissions?q={'+'.join(['word'] * 9)}"))
    assert "Search for 8 words or fewer." in text_of(many)
    assert 'type="hidden" name="q"' not in markup_of(many)  # an action on the whole list has the filters that narrow it


def test_list__of_a_form__has_its_tabs_and_filters_as_chips(tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(name="Cake orders")
    page = markup_of(browser.get(place(tenant, f"submissions?form={form_id}&q=cake&from=2026-01-02&held=on")))
    assert re.search(r'aria-current="page">\s*Submissions</a', page)
    assert f"forms/{form_id}/build" in page
    chips = re.findall(r'class="chip" href="([^"]+)" aria-label="Remove the filter ([^"]+)"', page)
    assert chips == [
        (f"?form={form_id}&amp;from=2026-01-02&amp;held=on", "“cake”"),
        (f"?form={form_id}&amp;q=cake&amp;held=on", "From 2026-01-02"),
        (f"?form={form_id}&amp;q=cake&amp;from=2026-01-02", "Held"),
    ]


def test_filter__to_another_form__loads_its_own_page(tenant: Tenant, browser: Browser) -> None:
    path = place(tenant, "submissions")
    headers = {"HX_Request": "true", "HX_Current_URL": f"http://127.0.0.1{path}?q=ada"}
    other = browser.get(f"{path}?form={tenant.form()}&q=ada", **headers)
    assert other.headers["HX-Redirect"].startswith(f"{path}?form=frm_")
    assert "HX-Redirect" not in browser.get(f"{path}?q=adam", **headers).headers


def test_columns__chosen__are_one_user_s_and_in_their_order(api: Client, tenant: Tenant, browser: Browser) -> None:
    form_id = tenant.form(fields=[text_field(name, label=name.title()) for name in ("name", "email", "city")])
    put(tenant, form_id, {"name": "Ada", "email": "ada@example.com", "city": "London", "<b>": "1"})
    path, query = place(tenant, "submissions"), f"?form={form_id}"

    def columns(someone: Browser) -> list[str]:
        return re.findall(r'<th scope="col" data-name="([^"]+)"', markup_of(someone.get(path + query)))

    def choose(**values: str | list[str]) -> Answer:
        return browser.post(f"{path}/columns", form=path + query, form_=form_id, **values)

    assert columns(browser) == ["name", "email", "city", "&lt;b&gt;"]
    choose(offered=["city", "gone", "name", "email"], column=["name", "city", "gone"])
    assert columns(browser) == ["city", "name"]
    moved = choose(offered=["city", "name", "email", "<b>"], column=["city", "name"], up="name")
    assert moved.headers["Location"] == f"{path}{query}&columns=open"
    assert '<details class="menu" open>' in markup_of(browser.follow(moved))
    assert columns(browser) == ["name", "city"]
    assert columns(logged_in(api, member_of(tenant.organization, "member"))) == ["name", "email", "city", "&lt;b&gt;"]
    choose(offered=[f"{n}{'x' * 150}" for n in range(200)], column=[f"{n}{'x' * 150}" for n in range(200)])
    stored = User.objects.get(
        organizations=tenant.organization, memberships__role="member", preferences__columns__isnull=False
    )
    assert len(stored.preferences["columns"][form_id]) == 20
    assert choose(offered=["city\0"], column=["city\0"]).status == 302  # PostgreSQL cannot store it
    assert columns(browser) == ["city"]
    choose(reset="")
    assert columns(browser) == ["name", "email", "city", "&lt;b&gt;"]


def test_whole_list__in_one_action__is_changed_up_to_its_newest_row(tenant: Tenant, browser: Browser) -> None:
    form_id, start = tenant.form(), now() - dt.timedelta(hours=2)
    ids = [put(tenant, form_id, {"n": "old"}, start + dt.timedelta(seconds=n)) for n in range(60)]
    kept = put(tenant, form_id, {"n": "other"}, start)
    path, query = place(tenant, "submissions"), f"?form={form_id}&q=old"
    page = browser.get(path + query)
    assert "Select all 60 that match" in text_of(page)
    newest, late = input_of(page, "newest"), put(tenant, form_id, {"n": "old, but late"})
    given = {"form_": form_id, "q": "old", "newest": newest, "total": "60", "rows": "25", "all": "on"}

    # A row was unticked after "select all": the tick of "all" is out of sight.
    browser.post(f"{path}/act", form=path, do="spam", id=shown(page)[:24], **given)
    assert Submission.objects.filter(form=decode_id(Prefix.FORM, form_id), spam=True).count() == 24
    answer = browser.post(f"{path}/act", form=path, do="spam", id=shown(page), **given)
    assert "36 submissions are marked as spam." in text_of(browser.follow(answer))
    inbox = browser.get(f"{path}?form={form_id}")
    assert shown(inbox) == [late, kept]
    spam = browser.get(f"{path}?form={form_id}&spam=true")
    assert set(shown(spam)) == set(ids[-PAGE:])


def test_whole_list__to_delete__asks_with_its_count_and_to_export_leads_there(tenant: Tenant, browser: Browser) -> None:
    form_id, other = tenant.form(), make_tenant()
    put_many(tenant, form_id, [{"n": str(n)} for n in range(30)])
    put(tenant, tenant.form(), {"n": "of another form"})
    put(other, other.form(), {"n": "of others"})
    path = place(tenant, "submissions")
    page = browser.get(f"{path}?form={form_id}")
    given = {"form_": form_id, "newest": input_of(page, "newest"), "rows": "25", "all": "on", "id": shown(page)}
    export = browser.post(f"{path}/act", form=path, do="export", **given)
    assert export.headers["Location"] == f"{path}/export?form={form_id}"
    asked = browser.post(f"{path}/act", form=path, do="delete", **given)
    assert "Delete 30 submissions permanently?" in text_of(asked)
    assert Submission.objects.filter(organization=tenant.organization).count() == 31
    confirmed = {name: input_of(asked, name) for name in ("newest", "all", "total")}
    done = browser.post(f"{path}/act", form=path, do="delete-now", form_=form_id, **confirmed)
    assert "30 submissions are deleted permanently." in text_of(browser.follow(done))
    assert Submission.objects.filter(organization=tenant.organization).count() == 1
    assert Submission.objects.filter(organization=other.organization).count() == 1


@pytest.mark.parametrize("do", ["delete-now", "delete", "spam", "export"])
def test_whole_list__of_a_form_that_is_erased_meanwhile__reaches_no_other_form(
    api: Client, tenant: Tenant, browser: Browser, do: str
) -> None:
    form_id, other = tenant.form(), put(tenant, tenant.form(), {"n": "of another form"})
    put_many(tenant, form_id, [{"n": str(n)} for n in range(30)])
    path = place(tenant, "submissions")
    page = browser.get(f"{path}?form={form_id}")
    given = {"form_": form_id, "newest": input_of(page, "newest"), "rows": "25", "all": "on", "id": shown(page)}
    assert api.delete(f"/api/forms/{form_id}", tenant.key).status == 200
    assert erase_form(Form.objects.get(pk=decode_id(Prefix.FORM, form_id)), by=tenant.owner)
    answer = browser.post(f"{path}/act", form=path, do=do, **given)
    assert answer.headers["Location"] == path
    page = browser.follow(answer)
    assert "A filter is no longer valid: its form may have been erased. Nothing more was done." in text_of(page)
    assert shown(page) == [other]
    for export in ("run", "files"):
        exported = browser.post(f"{path}/export/{export}", form=path, form_=form_id, format="csv")
        assert exported.headers["Location"] == f"{path}/export"


def test_whole_list__continued__counts_the_steps_before(tenant: Tenant, browser: Browser) -> None:
    ids = [put(tenant, tenant.form(), {"n": str(n)}, now() - dt.timedelta(hours=n)) for n in range(3)]
    path = place(tenant, "submissions")
    given = {"newest": ids[1], "seen": "8000", "changed": "7000", "total": "8002", "do": "read"}
    done = browser.post(f"{path}/act", form=path, **given)
    assert "7,001 submissions are marked as read." in text_of(browser.follow(done))
    read = Submission.objects.filter(organization=tenant.organization, is_read=True)
    assert [one.public_id for one in read] == [ids[2]]  # the page before took the others
