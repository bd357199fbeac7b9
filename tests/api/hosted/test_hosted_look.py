"""The owner's additions to the hosted page: help for fields, and a way back from the thank-you page."""

import gzip
import re

import pytest

from tests.services.client import Client
from tests.support.browser import markup_of
from tests.support.hosted_posts import GOOD, SHOP, post
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant, text_field

ALLOWED = ["https://shop.example", "https://*.friend.example"]


def way_back(api: Client, form_id: str, referer: str) -> tuple[str, str] | None:
    """Return address and text of the link on the thank-you page."""
    page = markup_of(api.get(f"/f/{form_id}/thanks", headers={"Referer": referer} if referer else {}))
    found = re.search(r'<p class="back"><a href="([^"]+)" rel="nofollow noopener">([^<]+)</a></p>', page)
    return (found[1], found[2]) if found else None


@pytest.mark.parametrize(
    ("referer", "expected"),
    first_on_both(
        [
            ("https://shop.example/", ("https://shop.example/", "Back to shop.example")),
            ("https://evil.example/", None),
            (
                "https://www.friend.example/a?b=1&c",
                ("https://www.friend.example/a?b=1&amp;c", "Back to www.friend.example"),
            ),
            ("https://shop.example.evil.example/", None),
            ("http://shop.example/", None),
            ("javascript:alert(1)", None),
            ("https://[", None),
            ("", None),
        ],
        2,
    ),
)
def test_thanks__after_a_post_of_a_page__leads_back_where_the_form_allows_it(
    api: Client, referer: str, expected: tuple[str, str] | None
) -> None:
    assert way_back(api, make_tenant().form(allowed_origins=ALLOWED), referer) == expected


def test_thanks__without_allowed_origins__leads_back_to_the_forms_own_page_only(api: Client) -> None:
    form_id = make_tenant().form()
    own = f"http://127.0.0.1:{api.port}/f/{form_id}"
    assert way_back(api, form_id, f"{own}?stamp=x") == (own, "Back to the form")
    assert way_back(api, form_id, f"http://127.0.0.1:{api.port}/f/other") is None
    assert way_back(api, form_id, "https://shop.example/") is None


def test_redirect_to_thanks__keeps_the_referer(api: Client) -> None:
    """Without it a browser would follow our own policy, which hides other origins' pages, and there is no way back."""
    answer = post(api, make_tenant().form(), GOOD, **SHOP)
    assert (answer.status, answer.headers["Referrer-Policy"]) == (303, "strict-origin-when-cross-origin")


def test_help_of_a_field__set_by_the_api__describes_its_input(api: Client) -> None:
    tenant = make_tenant()
    fields = [
        text_field("day", help='<b>"Weekdays"</b> only', required=True),
        {"label": "Extras", "type": "Checkbox", "options": ["Candles"], "help": "Free."},
        {"label": "Agree", "type": "Checkbox", "help": "Only once."},
        {"label": "Plain", "type": "Text", "help": ""},
    ]
    made = api.post("/api/forms", tenant.key, json={"name": "Cakes", "status": "published", "fields": fields})
    stored = made.json()["data"]["fields"]
    assert [field.get("help") for field in stored] == ['<b>"Weekdays"</b> only', "Free.", "Only once.", None]
    assert stored[3] == {"name": "plain", "label": "Plain", "type": "Text", "required": False}
    form_id = made.json()["data"]["id"]
    page = markup_of(api.get(f"/f/{form_id}"))
    assert '<p class="help" id="field-1-help">&lt;b&gt;&quot;Weekdays&quot;&lt;/b&gt; only</p>' in page
    assert re.findall(r'aria-describedby="([^"]+)"', page) == ["field-1-help", "field-2-help", "field-3-help"]
    refused = markup_of(post(api, form_id, {"plain": "x"}))
    assert 'aria-invalid="true" aria-describedby="field-1-help field-1-error"' in refused


@pytest.mark.on_sqlite
def test_help_of_a_field__too_long_or_no_text__is_refused(api: Client) -> None:
    key = make_tenant().key
    for bad, code in (("x" * 301, "max_length"), (5, "invalid"), (None, "null")):
        answer = api.post(
            "/api/forms", key, json={"name": "A", "fields": [{"label": "A", "type": "Text", "help": bad}]}
        )
        detail = answer.json()["details"][0]
        assert (answer.status, detail["field"], detail["code"]) == (400, "fields.0.help", code)


@pytest.mark.on_sqlite
def test_hosted_page__with_its_one_style_sheet__has_less_than_20_kilobytes(api: Client) -> None:
    """Uncompressed: what a phone without any cache unpacks. Every kind of control is on it."""
    kinds = ["Text", "Email", "Textarea", "Number", "Phone", "URL", "Date"]
    fields = [{"label": kind, "type": kind, "help": "A sentence of help."} for kind in kinds]
    tenant = make_tenant()
    page = api.get(f"/f/{tenant.form(fields=[{'name': f['label'], 'required': True, **f} for f in fields])}").text
    sheets = [api.get(path).body for path in re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)]
    assert len(sheets) == 1
    total = len(page.encode()) + sum(len(gzip.decompress(it) if it[:2] == b"\x1f\x8b" else it) for it in sheets)
    assert total < 20_000
