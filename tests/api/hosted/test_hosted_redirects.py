"""The redirect after a plain post: never to an address of a stranger (docs/contract.md 6.10)."""

import html
import re

import pytest

from tests.services.client import Client
from tests.support.hosted_posts import FIELDS, GOOD, SHOP, post
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # about addresses, not rows

STAMPED = re.compile(r'action="(\?stamp=[^"]+)"')
ALLOWED = ["https://shop.example", "https://*.friend.example"]
SAFE = [
    ("/thanks", SHOP, "https://shop.example/thanks"),
    ("thanks.html", SHOP, "https://shop.example/contact/thanks.html"),
    ("?sent=1", SHOP, "https://shop.example/contact/form.html?sent=1"),
    ("/thanks", {"Origin": "https://shop.example"}, "https://shop.example/thanks"),
    ("https://shop.example/a?b#c", SHOP, "https://shop.example/a?b#c"),
    ("https://www.friend.example/", SHOP, "https://www.friend.example/"),
    ("https:evil.example", SHOP, "https://shop.example/contact/evil.example"),  # relative, odd as it looks
    ("//shop.example/x", SHOP, "https://shop.example/x"),
]
UNSAFE = [
    "https://evil.example/",
    "//evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "\\\\evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "https://shop.example@evil.example/",
    "https://evil.example\\@shop.example/",
    "http://shop.example/",
    "https://shop.example:8443/",
    "https://friend.example/",
    "https://shop.example.evil.example/",
    "http://[",
    "/" + "x" * 3000,
]


@pytest.mark.parametrize(("target", "headers", "location"), SAFE)
def test_next__that_is_the_pages_own_or_allowed__is_followed(
    api: Client, target: str, headers: dict[str, str], location: str
) -> None:
    form_id = make_tenant().form(allowed_origins=ALLOWED, redirect_url="https://shop.example/default")

    answer = post(api, form_id, {**GOOD, "_next": target}, **headers)

    assert (answer.status, answer.headers["Location"]) == (303, location)


@pytest.mark.parametrize("target", UNSAFE)
def test_next__that_leads_to_strangers__is_passed_over(api: Client, target: str) -> None:
    tenant = make_tenant()
    answer = post(api, tenant.form(allowed_origins=ALLOWED), {**GOOD, "_next": target}, **SHOP)
    default = tenant.form(allowed_origins=ALLOWED, redirect_url="https://elsewhere.example/x")

    assert (answer.status, answer.headers["Location"].endswith("/thanks")) == (303, True)
    assert answer.headers["Location"].startswith(f"http://127.0.0.1:{api.port}/f/frm_")
    assert post(api, default, {**GOOD, "_next": target}, **SHOP).headers["Location"] == "https://elsewhere.example/x"


def test_every_origin_admitted__next_is_still_the_pages_own_alone(api: Client) -> None:
    form_id = make_tenant().form()

    def target(next_page: str, **headers: str) -> str:
        location: str = post(api, form_id, {**GOOD, "_next": next_page}, **headers).headers["Location"]
        return location

    thanks = f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"
    assert target("https://shop.example/t", **SHOP) == "https://shop.example/t"
    assert target("https://www.friend.example/", **SHOP) == thanks
    assert target("/t", Origin="null") == thanks, "no page to be relative to"


def test_client_that_names_no_page__stays_with_us(api: Client) -> None:
    answer = post(api, make_tenant().form(), {**GOOD, "_next": "/f/thanks"})

    assert (answer.status, answer.headers["Location"]) == (303, f"http://127.0.0.1:{api.port}/f/thanks")


@pytest.mark.parametrize("name", ["redirect", "redirectTo"])
def test_alias__that_looks_like_an_address__is_followed_and_stored(api: Client, name: str) -> None:
    form_id = make_tenant().form()

    targets = {"/t": "https://shop.example/t", "yes": f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"}
    targets["https://evil.example/"] = targets["yes"]
    for value, location in targets.items():
        assert post(api, form_id, {**GOOD, name: value}, **SHOP).headers["Location"] == location


def test_redirect_url_of_the_form__is_used_where_the_page_names_none(api: Client) -> None:
    form_id = make_tenant().form(redirect_url="https://elsewhere.example/thanks?a=b")

    answer = post(api, form_id, GOOD, **SHOP)

    assert (answer.status, answer.headers["Location"]) == (303, "https://elsewhere.example/thanks?a=b")


def test_next__that_a_refused_page_asked_for__is_not_followed_from_our_page_either(api: Client) -> None:
    """A page of ours with a form may post; its stamp must not carry the wish of a page that may not."""
    form_id = make_tenant().form(allowed_origins=ALLOWED, fields=FIELDS)
    evil = {"Origin": "https://evil.example", "Referer": "https://evil.example/form"}
    own = {"Origin": f"http://127.0.0.1:{api.port}"}

    refused = post(api, form_id, {**GOOD, "_next": "https://evil.example/x"}, **evil)
    assert (refused.status, STAMPED.search(refused.text)) == (403, None)
    again = post(api, form_id, {"name": "Ada", "_next": "https://evil.example/x"}, **own)
    stamp = STAMPED.search(again.text)
    assert stamp
    sent = post(api, form_id, GOOD, query=html.unescape(stamp[1]), **own)

    assert (sent.status, sent.headers["Location"]) == (303, f"http://127.0.0.1:{api.port}/f/{form_id}/thanks")
