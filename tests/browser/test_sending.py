"""Values that forms.js sends: every kind of input, several forms, forms added later (docs/contract.md 6.2 and 6.4)."""

import pytest
from playwright.sync_api import expect

from tests.services.waiting import eventually
from tests.support.chromium.visitor import CONTACT, Visitor
from tests.support.submitting import records

# forms.js dispatches its event while the click is still handled, so the count is right as soon as the click is over.
COUNT_SUBMITS = "window.submits = 0; addEventListener('fieldpost:submit', () => { window.submits++ })"


def test_form__sent__is_stored_and_thanked_for_and_emptied(visitor: Visitor) -> None:
    page = visitor.open()
    visitor.send(name="Ada", email="ada@example.com")
    expect(visitor.thanks).to_have_text("Submission received.")
    expect(visitor.thanks).to_have_attribute("role", "status")
    expect(page.locator("[name=name]")).to_have_value("")
    assert visitor.stored() == [{"name": "Ada", "email": "ada@example.com"}]
    assert page.evaluate("Object.values(localStorage)") == ["[]"]


def test_two_forms__sent_one_after_the_other__go_where_each_one_says(visitor: Visitor) -> None:
    other = visitor.tenant.form(name="Other")
    page = visitor.open(f'{CONTACT}<form id="two" data-form-id="{other}"><input name="only"><button>Go</button></form>')
    visitor.send(name="Ada", email="a@example.com")
    page.locator("[name=only]").fill("second")
    page.locator("#two button").click()
    expect(visitor.thanks).to_have_count(2)
    assert visitor.stored() == [{"name": "Ada", "email": "a@example.com"}]
    assert visitor.stored(other) == [{"only": "second"}]


def test_tag_without_a_form_id__sends_to_the_default_form(visitor: Visitor) -> None:
    visitor.open(tag=visitor.tag(None))
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored(visitor.tenant.default_form_id) == [{"name": "Ada", "email": ""}]


def test_form_added_later__is_taken_care_of(visitor: Visitor) -> None:
    page = visitor.open("<main></main>")
    page.evaluate("html => { document.querySelector('main').innerHTML = html }", CONTACT)
    visitor.send(name="Late")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Late", "email": ""}]


def test_every_kind_of_input__is_sent_as_a_browser_would(visitor: Visitor) -> None:
    visitor.open(
        """<input name="outside" form="f" value="o"><form id="f">
        <input type="checkbox" name="topic" value="a" checked><input type="checkbox" name="topic" value="b">
        <input type="checkbox" name="topic" value="c" checked><input type="checkbox" name="off">
        <select name="many" multiple><option selected>1</option><option>2</option><option selected>3</option></select>
        <input type="radio" name="one" value="x"><input type="radio" name="one" value="y" checked>
        <input name="gone" value="g" disabled><input value="nameless"><textarea name="text">a
b</textarea><input type="hidden" name="__proto__" value="p"><input type="password" name="secret" value="s">
        <input type="text" name="shown" autocomplete="current-password" value="s">
        <input type="file" name="cv"><button name="press" value="first">1</button>
        <button name="press" value="second" class="second">2</button></form>"""
    )
    visitor.page.locator(".second").click()
    expect(visitor.thanks).to_be_visible()
    wanted = {"outside": "o", "topic": "a, c", "many": "1, 3", "one": "y", "text": "a\nb", "__proto__": "p"}
    assert visitor.stored() == [{**wanted, "press": "second"}]


def test_inputs_without_name_and_id__go_under_their_labels(visitor: Visitor) -> None:
    visitor.open(
        """<form><label>Full Name <input value="Ada"></label><label for="x">By id</label><input id="x" value="i">
        <input aria-label="Your city" value="London"><input value="nothing names it"><label> <input value="e"></label>
        <label>LONG<textarea>t</textarea></label><button>Send</button></form>""".replace("LONG", "long " * 60)
    )
    visitor.page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    [stored] = visitor.stored()
    long = stored.pop(("long " * 20).strip() + " ")
    assert (stored, long) == ({"Full Name": "Ada", "x": "i", "Your city": "London"}, "t")
    assert visitor.page.locator("input[name]").count() == 0


def test_button_outside_the_form__sends_it_with_its_own_name(visitor: Visitor) -> None:
    visitor.open('<form id="f"><input name="a" value="1"></form><button form="f" name="b" value="2">Go</button>')
    visitor.page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"a": "1", "b": "2"}]


def test_enter_key_in_a_form_without_button__sends_it(visitor: Visitor) -> None:
    visitor.open('<form><input name="a" value="1"></form>')
    visitor.page.locator("[name=a]").press("Enter")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"a": "1"}]


@pytest.mark.parametrize("names", ["elements submit action", "reset method id", "append dispatchEvent querySelector"])
def test_inputs_named_like_a_forms_own_properties__do_no_harm(visitor: Visitor, names: str) -> None:
    inputs = "".join(f'<input name="{name}" value="v">' for name in names.split())
    visitor.open(f"<form>{inputs}<button>Go</button></form>")
    visitor.page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [dict.fromkeys(names.split(), "v")]


def test_ignored_and_dialog_forms__are_left_to_the_browser(visitor: Visitor) -> None:
    page = visitor.open(
        '<form data-fieldpost-ignore action="/thanks"><input name="a"><button id="own">Go</button></form>'
        '<dialog open><form method="dialog"><button id="close">Close</button></form></dialog>'
    )
    page.locator("#close").click()
    expect(page.locator("dialog")).not_to_be_visible()
    page.locator("#own").click()
    page.wait_for_url("**/thanks?a=")
    assert visitor.stored() == []


def test_page_that_says_no_itself__is_heard(visitor: Visitor) -> None:
    page = visitor.open()
    page.evaluate("document.forms[0].addEventListener('submit', event => event.preventDefault())")
    page.evaluate(COUNT_SUBMITS)
    visitor.send(name="Ada")
    assert page.evaluate("window.submits") == 0
    assert visitor.stored() == []


def test_required_field_left_empty__is_the_browsers_to_say(visitor: Visitor) -> None:
    page = visitor.open('<form><input name="a" required><button>Go</button></form>')
    page.evaluate(COUNT_SUBMITS)
    page.locator("button").click()
    expect(page.locator("[name=a]")).to_be_focused()
    assert page.evaluate("window.submits") == 0
    visitor.send(a="1")
    expect(visitor.thanks).to_be_visible()
    assert page.evaluate("window.submits") == 1


def test_tag_that_stands_twice_on_a_page__sends_once(visitor: Visitor) -> None:
    seen = visitor.answers()
    page = visitor.open(tag=visitor.tag() * 2)
    page.evaluate(COUNT_SUBMITS)
    visitor.send(name="Ada")
    expect(visitor.thanks).to_have_count(1)
    assert (page.evaluate("window.submits"), len(seen)) == (1, 1)


def test_webhook_of_the_tag__becomes_a_pending_webhook(visitor: Visitor) -> None:
    url = "http://127.0.0.1:9/custom"
    visitor.open(tag=visitor.tag(**{"data-webhook-url": url}))
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": ""}]

    def pending() -> bool:
        found = visitor.api.get(f"/api/webhooks?formId={visitor.form_id}", visitor.tenant.key).json()["data"]
        return [(one["url"], one["status"]) for one in found] == [(url, "pending")]

    eventually(pending)


def test_origin__not_on_the_forms_list__is_refused_in_words(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(allowed_origins=[visitor.site.origin])
    visitor.forgives = ["403"]
    url = visitor.open().url.replace("127.0.0.1", "localhost")  # the same server, another origin
    visitor.page.goto(url)
    visitor.send(name="Ada")
    expect(visitor.error).to_contain_text(f"http://localhost:{visitor.site.port}")
    assert visitor.stored() == []


def test_origin__on_the_forms_list__is_stored_with_the_submission(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(allowed_origins=[visitor.site.origin])
    visitor.open()
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert records(visitor.api, visitor.tenant, visitor.form_id)[0]["meta"]["origin"] == visitor.site.origin


def test_sandboxed_frame__has_no_origin_and_no_storage__and_is_taken_where_every_origin_is(visitor: Visitor) -> None:
    inner = visitor.site.add(f"<body>{CONTACT}{visitor.tag()}</body>")
    page = visitor.open(f'<iframe sandbox="allow-scripts allow-forms" src="{inner}"></iframe>', tag="")
    frame = page.frame_locator("iframe")
    frame.locator("[name=name]").fill("Ada")
    frame.locator("button").click()
    expect(frame.locator("[data-fieldpost-success]")).to_be_visible()
    assert records(visitor.api, visitor.tenant, visitor.form_id)[0]["meta"]["origin"] == "null"
