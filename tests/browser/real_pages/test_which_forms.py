"""Forms that the script handles, forms that it leaves to the page, and values that it never sends."""

import pytest
from playwright.sync_api import expect

from tests.support.chromium.visitor import CONTACT, Visitor

LEFT_ALONE = [
    '<form method="get" action="/thanks">{}<button>Go</button></form>',
    '<form method="post" action="/thanks">{}<button formmethod="get">Go</button></form>',
    '<form role="search" action="/thanks">{}<button>Go</button></form>',
    '<div role="search"><form action="/thanks">{}<button>Go</button></form></div>',
    '<search><form action="/thanks">{}<button>Go</button></form></search>',
    '<form hx-get="/x" action="/thanks">{}<button>Go</button></form>',
]


@pytest.mark.parametrize("form", LEFT_ALONE)
def test_search_and_get_forms__go_where_they_went__unless_they_have_a_form_id(visitor: Visitor, form: str) -> None:
    markup = form.format('<input name="s">')
    page = visitor.open(markup)
    visitor.send(s="cake")
    page.wait_for_url("**/thanks?s=cake")
    assert visitor.stored() == []

    visitor.open(markup.replace("<form", f'<form data-form-id="{visitor.form_id}"'))
    visitor.send(s="cake")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"s": "cake"}]


def test_button_that_closes_a_dialog__sends_nothing__even_of_a_form_with_an_id(visitor: Visitor) -> None:
    page = visitor.open(
        f'<dialog open><form data-form-id="{visitor.form_id}"><input name="a" value="1">'
        '<button formmethod="dialog">Cancel</button></form></dialog>'
    )
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("dialog")).not_to_be_visible()
    assert visitor.stored() == []


def test_post_form_and_form_without_a_method__next_to_a_search__are_sent(visitor: Visitor) -> None:
    page = visitor.open(f'<form role="search"><input name="s"></form>{CONTACT.replace("<form", "<form method=POST")}')
    page.locator("[name=name]").fill("Ada")
    page.locator("#contact button").click()
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_action_on_another_host__is_sent_to_us__and_the_console_says_so_once(visitor: Visitor) -> None:
    visitor.forgives = ["data-fieldpost-ignore"]
    page = visitor.open(CONTACT.replace("<form", '<form method="post" action="https://list.example/subscribe"'))
    for name in ("Ada", "Bob"):
        visitor.send(name=name)
        expect(visitor.thanks).to_be_visible()
        expect(page.locator("[name=name]")).to_have_value("")
    assert [one["name"] for one in visitor.stored()] == ["Ada", "Bob"]
    said = [one for one in visitor.complaints if "list.example" in one]
    assert len(said) == 1, visitor.complaints
    assert "data-fieldpost-ignore" in said[0]


def test_action_of_the_service_or_the_page__needs_no_word(visitor: Visitor) -> None:
    for action in (f"{visitor.service_url}/f/{visitor.form_id}", f"{visitor.site.origin}/contact.php"):
        visitor.open(CONTACT.replace("<form", f'<form method="post" action="{action}"'))
        visitor.send(name="Ada")
        expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 2


def test_inputs_without_a_name__are_sent_under_their_id__and_marked_by_it(visitor: Visitor) -> None:
    fields = [{"name": "email", "label": "Email", "type": "Email", "required": True}]
    visitor.form_id = visitor.tenant.form(fields=fields)
    visitor.forgives = ["400"]
    page = visitor.open(
        '<form><input id="email" value="wrong"><input type="checkbox" id="news" checked><input value="neither">'
        '<select id="size"><option>S</option></select><button id="go">Go</button></form>'
    )
    page.locator("button").click()
    expect(page.locator("#email")).to_be_focused()
    expect(page.locator("#email + [data-fieldpost-field-error]")).to_have_text("Email must be an email address.")
    page.locator("#email").fill("a@example.com")
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert page.locator("[name]").count() == 0
    assert visitor.stored() == [{"email": "a@example.com", "news": "on", "size": "S"}]


def test_passwords_cards_and_codes__are_never_sent(visitor: Visitor) -> None:
    secrets = ["cc-number", "section-a billing CC-CSC", "cc-exp", "one-time-code", "current-password", "new-password"]
    inputs = "".join(f'<input name="s{number}" value="1" autocomplete="{kind}">' for number, kind in enumerate(secrets))
    visitor.open(
        f'<form><input name="name" autocomplete="name" value="Ada"><input name="bcc-list" value="b">{inputs}'
        '<input type="password" name="p" value="1"><input type="password" id="q" value="1"><button>Go</button></form>'
    )
    visitor.page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "bcc-list": "b"}]


def test_secret_key_in_the_tag__is_an_error_in_the_console__and_the_submission_is_taken(visitor: Visitor) -> None:
    visitor.forgives = ["secret key"]
    for name in ("Ada", "Bob"):
        with visitor.page.expect_console_message(lambda said: said.type == "error" and "secret key" in said.text):
            visitor.open(tag=visitor.tag(**{"data-key": visitor.tenant.key}))
        visitor.send(name=name)
        expect(visitor.thanks).to_be_visible()
    assert [one["name"] for one in visitor.stored()] == ["Ada", "Bob"]
    assert visitor.tenant.key not in "".join(visitor.complaints)
