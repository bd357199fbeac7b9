"""The page that refuses a post has everything that the visitor typed (docs/contract.md 6.11)."""

import html
import re

import pytest

from config.base.times import now
from keys.models import Organization
from tests.services.client import Answer, Client
from tests.support.hosted_posts import FIELDS, GOOD, SHOP, multipart, post
from tests.support.replies import unknown_id
from tests.support.submitting import records, stored_data
from tests.support.tenants import make_tenant

TYPED = {"name": "Ada", "phone": "030 1", "question": "a <long> one\nin two lines"}
INPUTS = re.compile(r'<(?:input|textarea|select)[^>]*? name="([^"]+)"[^>]*>')
STAMPED = re.compile(r'action="(/f/[^"?]+)?(\?stamp=[^"]+)"')


def inputs_of(answer: Answer) -> list[str]:
    """Return the names that the form on a page would send, the honeypot left out."""
    return [name for name in INPUTS.findall(answer.text) if name != "_gotcha"]


def test_chosen_file__everything_else_is_in_the_form_again__and_it_can_be_sent(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    body, headers = multipart({**TYPED, "_next": "/sent"}, {"cv": ("cv.pdf", "%PDF")})

    refused = api.post(f"/f/{form_id}", data=body, headers=headers | SHOP)
    stamp = STAMPED.search(refused.text)
    assert stamp
    sent = post(api, form_id, TYPED, query=html.unescape(stamp[2]))

    assert (refused.status, inputs_of(refused), "required" in refused.text) == (
        400,
        ["name", "phone", "question"],
        False,
    )
    assert all(html.escape(text) in refused.text for text in TYPED.values())
    assert (sent.status, sent.headers["Location"]) == (303, "https://shop.example/sent")
    assert stored_data(api, tenant, form_id) == [TYPED]


@pytest.mark.parametrize("published", [True, False], ids=["value too long", "draft"])
def test_form_without_fields__only_the_inputs_of_its_page_are_shown(api: Client, published: bool) -> None:
    form_id = make_tenant().form(published=published)
    values = {"name": "Ada", "email": "", "x": "x" * (70_000 if published else 7)}

    answer = post(api, form_id, values)

    assert (answer.status, inputs_of(answer)) == (400 if published else 403, ["email", "name", "x"])
    assert "Message" not in answer.text


def test_several_values_of_one_name__are_all_there(api: Client) -> None:
    answer = post(api, make_tenant().form(fields=FIELDS), {**GOOD, "email": "no address", "topic": ["cakes", "bread"]})

    assert (answer.status, inputs_of(answer)) == (400, ["name", "email", "topic", "topic"])
    assert "cakes" in answer.text
    assert "bread" in answer.text


def test_control_fields_of_the_page__are_sent_again_unseen__and_framework_fields_are_not(api: Client) -> None:
    values = {"name": "Ada", "_subject": "Hi", "_cc": "a@example.com", "_captcha": "false", "csrfmiddlewaretoken": "t"}

    answer = post(api, make_tenant().form(fields=FIELDS), values)

    assert (answer.status, inputs_of(answer)) == (400, ["name", "email", "_subject", "_cc"])


@pytest.mark.parametrize("case", ["refused origin", "unknown form", "suspended"])
def test_post_that_no_page_of_ours_could_send__shows_the_text_without_a_form(api: Client, case: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=["https://own.example"] if case == "refused origin" else [])
    if case == "suspended":
        Organization.objects.filter(pk=tenant.organization.pk).update(suspended_at=now())

    answer = post(api, unknown_id("frm") if case == "unknown form" else form_id, {**TYPED, "_subject": "Hi"}, **SHOP)

    assert (answer.status, "<form" in answer.text) == (404 if case == "unknown form" else 403, False)
    assert all(html.escape(text) in answer.text for text in TYPED.values())
    assert "_subject" not in answer.text


def test_thanks__read_again__stores_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = post(api, form_id, {"a": "1"})
    assert answer.status == 303
    pages = [api.get(answer.headers["Location"].partition(str(api.port))[2]) for _ in range(2)]

    assert [(page.status, "Thank you" in page.text) for page in pages] == [(200, True)] * 2
    assert len(records(api, tenant, form_id)) == 1
