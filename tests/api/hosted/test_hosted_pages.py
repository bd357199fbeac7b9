"""`GET /f/{formId}`: the published form as a page (docs/contract.md 6.8)."""

import html

import pytest

from tests.services.client import Client
from tests.support.browser import markup_of
from tests.support.hosted_posts import FIELDS, GOOD, post
from tests.support.replies import unknown_id
from tests.support.tenants import make_tenant

HOSTILE = '"><script>alert(1)</script>'


def test_published_form__is_shown_with_its_fields_and_no_cookie(api: Client) -> None:
    answer = api.get(f"/f/{make_tenant().form(fields=FIELDS, name='Ask us')}")

    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    for part in ("<h1>Ask us</h1>", '<input type="text" id="field-1" name="name"', 'type="email"', 'name="_gotcha"'):
        assert part in markup_of(answer)
    assert "Set-Cookie" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-store"


def test_form_without_fields__asks_for_an_address_and_a_message(api: Client) -> None:
    text = api.get(f"/f/{make_tenant().default_form_id}").text

    assert 'name="email"' in text
    assert 'name="message"' in text


def test_query__fills_in_declared_fields_and_nothing_else(api: Client) -> None:
    form_id = make_tenant().form(fields=FIELDS)

    text = api.get(f"/f/{form_id}?name=Ada%22%3E&_next=//evilhost.example&utm_source=x").text

    assert 'value="Ada&quot;&gt;"' in text
    assert "evilhost" not in text
    assert "utm_source" not in text


@pytest.mark.parametrize("state", ["draft", "archived"])
def test_form_that_takes_nothing__has_no_page(api: Client, state: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(published=False, name="Secret plans")
    if state == "archived":
        assert api.delete(f"/api/forms/{form_id}", tenant.key).status == 200

    answer = api.get(f"/f/{form_id}")

    assert (answer.status, "not open" in answer.text, "Secret" in answer.text) == (404, True, False)


@pytest.mark.parametrize("form_id", [unknown_id("frm"), unknown_id("sub"), "frm_x", "%00", "a" * 500])
def test_address_of_no_form__is_the_same_page(api: Client, form_id: str) -> None:
    answer = api.get(f"/f/{form_id}")

    assert (answer.status, "This form is not open" in answer.text) == (404, True)


@pytest.mark.parametrize(
    ("origins", "ancestors", "frame_options"),
    [
        ([], "'none'", "DENY"),
        (["https://a.example", "https://*.b.example"], "https://a.example https://*.b.example", None),
    ],
)
def test_page__is_framed_by_its_allowed_origins_alone(
    api: Client, origins: list[str], ancestors: str, frame_options: str | None
) -> None:
    answer = api.get(f"/f/{make_tenant().form(allowed_origins=origins)}")

    assert answer.headers["Content-Security-Policy"].endswith(f"frame-ancestors {ancestors}")
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers.get("X-Frame-Options") == frame_options


def test_page__is_not_read_by_other_origins_scripts(api: Client) -> None:
    """But thanks are: the redirect leads scripts there that ask for no JSON, and it must not fail for them."""
    form_id, evil = make_tenant().form(), {"Origin": "https://evil.example"}

    for path in (f"/f/{form_id}", f"/f/{form_id}/", f"/f/{form_id}/report", f"/s/{form_id}", f"/{form_id}"):
        assert "Access-Control-Allow-Origin" not in api.get(path, headers=evil).headers
    thanks = api.get(f"/f/{form_id}/thanks", headers=evil)
    assert (thanks.headers["Access-Control-Allow-Origin"], "Set-Cookie" in thanks.headers) == (evil["Origin"], False)


def test_hostile_names_labels_and_values__are_shown_as_text(api: Client) -> None:
    field = {"name": HOSTILE, "label": HOSTILE, "type": "Select", "required": True, "options": [HOSTILE, "b"]}
    form_id = make_tenant().form(name=HOSTILE, fields=[{**field, "placeholder": HOSTILE}], success_message=HOSTILE)

    pages = [api.get(f"/f/{form_id}"), post(api, form_id, {"other": HOSTILE, "_subject": HOSTILE})]
    pages += [api.get(f"/f/{form_id}/thanks"), post(api, unknown_id("frm"), {HOSTILE: HOSTILE})]

    assert [page.status for page in pages] == [200, 400, 200, 404]
    for page in pages:
        assert "<script>alert" not in page.text
        assert html.escape(HOSTILE) in page.text


def test_head_is_get_without_body__and_other_methods_are_told_what_works(api: Client) -> None:
    form_id = make_tenant().form()

    assert (api.request("HEAD", f"/f/{form_id}").status, api.request("HEAD", f"/f/{form_id}").body) == (200, b"")
    answer = api.request("PUT", f"/f/{form_id}")
    assert (answer.status, answer.headers["Allow"], answer.json()["error"]) == (405, "GET, POST", "method_not_allowed")


def test_thanks_page__has_the_forms_own_words(api: Client) -> None:
    form_id = make_tenant().form(success_message="See you\nsoon & well")

    answer = post(api, form_id, GOOD)

    thanks = f"/f/{form_id}/thanks"
    assert (answer.status, answer.headers["Location"]) == (303, f"http://127.0.0.1:{api.port}{thanks}")
    assert "See you<br>soon &amp; well" in api.get(thanks).text
