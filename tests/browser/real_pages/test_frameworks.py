"""Pages whose forms belong to a framework, as npm has it; modules, shadow roots and trusted types."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.visitor import CONTACT, Visitor, reply

MODULES = TOOLS / "node_modules"
REACT = ("react/umd/react.production.min.js", "react-dom/umd/react-dom.production.min.js")
VUE = "vue/dist/vue.global.prod.js"
TURBO = "@hotwired/turbo/dist/turbo.es2017-umd.js"
HTMX = "htmx.org/dist/htmx.min.js"
UNPOLY = "unpoly/unpoly.min.js"
REACT_FORM = """
const e = React.createElement;
function Contact() {
  const [name, setName] = React.useState("");
  const [isOn, setOn] = React.useState(false);
  const [size, setSize] = React.useState("");
  return e("form", { id: "contact" },
    e("input", { name: "name", value: name, onChange: (event) => setName(event.target.value) }),
    e("input", { name: "news", type: "checkbox", checked: isOn, onChange: (event) => setOn(event.target.checked) }),
    e("select", { name: "size", value: size, onChange: (event) => setSize(event.target.value) },
      e("option", { value: "" }, "-"), e("option", { value: "L" }, "L")),
    e("button", null, "Send"), e("output", null, `${name}|${isOn}|${size}`));
}"""
SERVED = (
    '<form id="contact"><input name="name" value=""/><input type="checkbox" name="news"/>'
    '<select name="size"><option value="" selected="">-</option><option value="L">L</option></select>'
    "<button>Send</button><output>|false|</output></form>"
)
VUE_FORM = """Vue.createApp({ data: () => ({ name: "", isOn: false, size: "" }), template: `<form id="contact">
  <input name="name" v-model="name"><input type="checkbox" name="news" v-model="isOn">
  <select name="size" v-model="size"><option value="">-</option><option>L</option></select>
  <button>Send</button><output>{{ name }}|{{ isOn }}|{{ size }}</output></form>` }).mount("#app")"""


def scripts(visitor: Visitor, *paths: str) -> str:
    folder = visitor.site.add_folder("npm", MODULES)
    return "".join(f'<script src="{folder}/{path}"></script>' for path in paths)


def fill(page: Page) -> None:
    page.locator("[name=name]").fill("Ada")
    page.locator("[name=news]").check()
    page.locator("[name=size]").select_option("L")
    expect(page.locator("output")).to_have_text("Ada|true|L")


FILLED = {"name": "Ada", "news": "on", "size": "L"}


@pytest.mark.parametrize("framework", ["react", "vue"])
def test_controlled_inputs__are_emptied_after_success(visitor: Visitor, framework: str) -> None:
    if framework == "react":
        code = f"{REACT_FORM} ReactDOM.createRoot(document.querySelector('#app')).render(e(Contact));"
        libraries = scripts(visitor, *REACT)
    else:
        code, libraries = VUE_FORM, scripts(visitor, VUE)
    page = visitor.open(f'<div id="app"></div>{libraries}<script>{code}</script>')
    for count in (1, 2):
        fill(page)
        page.locator("button").click()
        expect(page.locator("output")).to_have_text("|false|")
        expect(page.locator("[name=name]")).to_have_value("")
        expect(visitor.thanks).to_be_visible()
        assert visitor.stored() == [FILLED] * count


def test_react__that_hydrates_after_the_submission__does_so_without_an_error__and_the_thanks_stay(
    visitor: Visitor,
) -> None:
    page = visitor.open(f'<div id="app">{SERVED}</div>{scripts(visitor, *REACT)}<script>{REACT_FORM}</script>')
    page.evaluate("document.querySelector('form').served = true")
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    errors = page.evaluate(
        """() => new Promise((done) => {
          const errors = [];
          ReactDOM.hydrateRoot(document.querySelector("#app"), e(() => {
            React.useEffect(() => { setTimeout(() => done(errors), 100) });
            return e(Contact);
          }), { onRecoverableError: (error) => errors.push(String(error)) });
        })"""
    )
    assert errors == []
    assert page.evaluate("document.querySelector('form').served"), "React has kept the served form"
    expect(visitor.thanks).to_have_text("Submission received.")
    visitor.send(name="Bob")
    expect(page.locator("[name=name]")).to_have_value("")
    assert [one["name"] for one in visitor.stored()] == ["Ada", "Bob"]


def test_errors_at_fields__before_react_hydrates__do_no_harm(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=[{"name": "name", "label": "Name", "type": "Text", "required": True}])
    visitor.forgives = ["400"]
    page = visitor.open(f'<div id="app">{SERVED}</div>{scripts(visitor, *REACT)}<script>{REACT_FORM}</script>')
    visitor.send(name="")
    expect(visitor.error).to_be_visible()
    page.evaluate("ReactDOM.hydrateRoot(document.querySelector('#app'), e(Contact))")
    page.locator("[name=name]").fill("Ada")
    expect(page.locator("output")).to_have_text("Ada|false|")
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    expect(page.locator("[data-fieldpost-field-error]")).to_have_count(0)


@pytest.mark.parametrize(
    ("library", "body"),
    [
        (TURBO, "{form}"),
        (TURBO, '<turbo-frame id="f">{form}</turbo-frame>'),
        (HTMX, '<div hx-boost="true">{form}</div>'),
        (HTMX, "{form_hx}"),
        (UNPOLY, "{form_up}"),
    ],
)
def test_form_that_a_framework_would_take__is_sent_by_us(visitor: Visitor, library: str, body: str) -> None:
    form = CONTACT.replace("<form", '<form method="post" action="/own"')
    markup = body.format(
        form=form,
        form_hx=CONTACT.replace("<form", '<form hx-post="/own"'),
        form_up=form.replace("<form", '<form up-submit up-target="body"'),
    )
    asked: list[str] = []
    visitor.forgives = ["loading Turbo"]
    page = visitor.open(scripts(visitor, library) + markup)
    page.on("request", lambda request: asked.append(request.url))
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": ""}]
    assert not [url for url in asked if "/own" in url]


def test_what_htmx_sends_without_a_submit__is_its_own(visitor: Visitor) -> None:
    page = visitor.open(
        scripts(visitor, HTMX) + CONTACT.replace("<form", '<form hx-post="/own" hx-trigger="input" hx-swap="none"')
    )
    with page.expect_request("**/own"):
        page.locator("[name=name]").fill("Ada")
    page.locator("button").click()
    expect(visitor.thanks).to_be_visible()
    assert len(visitor.stored()) == 1


def test_checks_of_the_page__come_before_a_framework_too(visitor: Visitor) -> None:
    visitor.forgives = ["loading Turbo"]
    page = visitor.open(scripts(visitor, TURBO) + CONTACT)
    page.evaluate("document.addEventListener('submit', event => event.preventDefault())")
    page.evaluate("addEventListener('fieldpost:submit', () => { window.isTaken = true })")
    visitor.send(name="Ada")
    assert page.evaluate("window.isTaken") is None
    assert visitor.stored() == []


def test_module__and_form_in_open_shadow_roots__are_found(visitor: Visitor) -> None:
    visitor.form_id = visitor.tenant.form(fields=[{"name": "name", "label": "Name", "type": "Text", "required": True}])
    visitor.forgives = ["400"]
    page = visitor.open(f'<div id="outer"></div>{visitor.tag().replace("<script", "<script type=module")}', tag="")
    page.evaluate(
        """html => { const inner = document.querySelector("#outer").attachShadow({ mode: "open" });
          inner.innerHTML = "<section></section>";
          inner.firstChild.attachShadow({ mode: "open" }).innerHTML = html;
          addEventListener("fieldpost:success", () => { window.isHeard = true }) }""",
        CONTACT,
    )
    visitor.send(name="")
    expect(page.locator("[data-fieldpost-field-error]")).to_have_text("Name is required.")
    visitor.send(name="Ada")
    expect(visitor.thanks).to_have_text("Submission received.")
    assert visitor.stored() == [{"name": "Ada", "email": ""}]
    assert page.evaluate("window.isHeard")


@pytest.mark.parametrize(
    "policy",
    [
        "require-trusted-types-for 'script'",
        "require-trusted-types-for 'script'; trusted-types 'none'; script-src 'nonce-n' 'strict-dynamic'",
    ],
)
def test_trusted_types__with_proof_of_work__are_no_obstacle(plain_visitor: Visitor, policy: str) -> None:
    visitor = plain_visitor
    protected: dict[str, Any] = {"spam_protection": {"proof_of_work": True}}
    visitor.form_id = visitor.tenant.form(**protected)
    visitor.forgives = ["400"]
    tag = visitor.tag(nonce="n")
    visitor.open(tag=tag, headers={"Content-Security-Policy": policy})
    visitor.send(name="Ada")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"name": "Ada", "email": ""}]


def test_further_file__that_is_not_the_pinned_one__does_not_run(visitor: Visitor) -> None:
    visitor.forgives = ["400", "integrity"]
    visitor.answers(reply(400, '{"details": [{"field": "name", "message": "Too short."}], "message": "Not valid."}'))
    page = visitor.open()
    page.context.route(
        "**/forms.more.*",
        lambda route: route.fulfill(
            body="document.title = 'hacked'; export const mark = () => 'hacked'",
            headers={"Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*"},
        ),
    )
    visitor.send(name="Ada")
    expect(visitor.error).to_have_text("Not valid.")
    assert page.title() == "A page"
