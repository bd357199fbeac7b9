"""`forms.debug.js` explains in the console why forms are not sent, on localhost and with `data-debug`."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.chromium.visitor import CONTACT, Visitor
from tests.support.tenants import text_field

CANCEL = "<script>document.forms[0].addEventListener('submit', (event) => event.preventDefault())</script>"
STOP = (
    "<script>document.body.addEventListener('submit', (event) => event.stopPropagation());"
    "addEventListener('beforeunload', (event) => event.stopImmediatePropagation())</script>"
)


def open_with_debug(visitor: Visitor, body: str, **attributes: str) -> Page:
    with visitor.page.expect_response("**/forms.debug.*.js"):
        page = visitor.open(body, tag=visitor.tag(**{"data-debug": "", **attributes}))
    page.evaluate("new Promise((done) => setTimeout(done, 50))")  # the module is run after it is there
    return page


@pytest.mark.parametrize(
    ("body", "action", "said"),
    [
        (CONTACT + CANCEL, "document.forms[0].requestSubmit()", "another script has canceled"),
        (CONTACT + STOP, "document.forms[0].requestSubmit()", "has stopped the submit event"),
        (CONTACT, "document.forms[0].submit()", "requestSubmit()"),
        ('<form role="search"></form>', "document.forms[0].requestSubmit()", "it is a search"),
        ('<form method="get"></form>', "document.forms[0].requestSubmit()", "its method is get"),
        (
            "<main></main>",
            """() => { const root = document.querySelector("main").attachShadow({ mode: "closed" });
            root.innerHTML = "<form><input></form>" }""",
            "closed shadow root",
        ),
        (
            "<script>document.write('<main></main>'); document.querySelector('main').attachShadow({ mode: 'closed' })"
            ".innerHTML = '<form><input></form>'</script>",
            "new Promise((done) => setTimeout(done))",
            "closed shadow root",
        ),
    ],
)
def test_debug__says_what_is_not_sent(plain_visitor: Visitor, body: str, action: str, said: str) -> None:
    visitor = plain_visitor
    visitor.forgives = ["Fieldpost: "]
    page = open_with_debug(visitor, body)
    with page.expect_console_message(lambda message: said in message.text):
        page.evaluate(action)
        page.keyboard.press("Tab")
    assert visitor.stored() == []


def test_debug__names_inputs_without_name_and_id(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    visitor.forgives = ["Fieldpost: "]
    open_with_debug(
        visitor, '<form><input aria-label="City" value="London"><input value="x"><button>Send</button></form>'
    )
    visitor.page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    said = [text.partition("so its value ")[2] for text in visitor.complaints if "no name and no id" in text]
    assert [text.partition(". Give")[0] for text in said] == ["is sent under its label, “City”", "is not sent"]
    assert visitor.stored() == [{"City": "London"}]


def test_debug__of_a_submit_that_forms_js_itself_swallows__blames_no_other_script(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    visitor.form_id = visitor.tenant.form(fields=[text_field("email", type="Email", required=True)])
    visitor.forgives = ["Fieldpost: ", "400"]
    page = open_with_debug(
        visitor,
        CONTACT + "<script>addEventListener('fieldpost:error', ({ target }) => target.requestSubmit())</script>",
    )
    with page.expect_console_message(lambda message: "still being sent" in message.text):
        visitor.send(email="wrong")
    assert not any("another script" in text for text in visitor.complaints)


def test_debug__without_a_key__says_so(plain_visitor: Visitor) -> None:
    plain_visitor.forgives = ["Fieldpost: "]
    with plain_visitor.page.expect_console_message(lambda message: "no data-key" in message.text):
        open_with_debug(plain_visitor, CONTACT, **{"data-key": ""})


def test_debug__of_what_is_sent__says_nothing(plain_visitor: Visitor) -> None:
    open_with_debug(plain_visitor, CONTACT)
    plain_visitor.send(name="Ada")
    expect(plain_visitor.thanks).to_be_visible()
    assert plain_visitor.complaints == []


def test_debug__on_localhost__comes_by_itself(plain_visitor: Visitor) -> None:
    visitor = plain_visitor
    url = visitor.open().url.replace("127.0.0.1", "localhost")
    with visitor.page.expect_response("**/forms.debug.*.js"):
        visitor.page.goto(url)
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
