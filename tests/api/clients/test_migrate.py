"""`fieldpost migrate`: forms of other services' pages, made here, and the pages that then post to them."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.support.fieldpost_command import Ran, command_of
from tests.support.submitting import records
from tests.support.tenants import Tenant, make_tenant

FORMSPREE = """<!doctype html>
<title>Shop</title><h1>Write to us</h1>
<form action="https://formspree.io/f/OLDID"
      method="POST" class='big'>
  <label>Your email: <input type="email" name="email" required></label>
  <label for=m>Message *</label><textarea id=m name="message" placeholder="Hello"></textarea>
  <input type="hidden" name="_subject" value="From the shop">
  <input type="hidden" name="_cc" value="boss@shop.example">
  <input type="text" name="_gotcha" style="display:none">
  <button>Send</button>
</form>
<script>fetch("https://formspree.io/f/OLDID", {method: "POST"})</script>
<script>fetch("https://formspree.io/f/OLDID2")</script>
"""
NETLIFY = """<form name="jobs" data-netlify="true" netlify-honeypot="bot-field" action=/thanks>
<p hidden><input name="bot-field"></p>
<input type="hidden" name="form-name" value="jobs">
<fieldset><legend>Days</legend>
<label><input type=checkbox name="days[]" value="Monday"> Monday</label>
<label><input type=checkbox name="days[]" value="Tuesday"> Tuesday</label></fieldset>
<label>Role <select name="role" required><option value="">Choose<option>Dev<option value="pm">Manager</select></label>
<label>CV <input type="file" name="cv" accept=".pdf, image/*" multiple></label>
<label><input type="radio" name="size" value="S"> Small</label>
<label><input type="radio" name="size" value="L"> L</label>
<label><input type="checkbox" name="terms" required> I agree</label>
<div data-netlify-recaptcha="true"></div>
</form>"""
WEB3FORMS = """<form action="https://api.web3forms.com/submit" method="POST">
<input type="hidden" name="access_key" value="a-b-c"><input type="hidden" name="from_name" value="Shop">
<label>Company <input name="company"></label>
<input type="text" name="firstName" placeholder="e.g. A1" required>
<input type="tel" name="phone" aria-label="Phone number">
<input type="hidden" name="utm" value="1"><input type="password" name="pin"><input type="checkbox" name="botcheck">
<div class="x h-captcha"></div></form>"""
BASIN = '<form accept-charset="UTF-8" action="https://usebasin.com/f/0123abcd" method="POST"><input name=email></form>'
GOOGLE = """<form action="https://docs.google.com/forms/d/e/1FAIpQL_x/formResponse">
<label for=a>Name</label><input id=a name="entry.123"><input type=hidden name=fvv value=1></form>"""


def run(service: Application, tenant: Tenant, folder: Path, page: str, *options: str) -> Ran:
    (folder / "page.html").write_text(page)
    return command_of(service, tenant.key, folder).run("migrate", "page.html", *options)


def field(name: str, label: str, kind: str = "Text", *, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": label, "type": kind, "required": required, **more}


def test_migrate__formspree__keeps_its_id_and_the_page_posts_here(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    old = f"x{tenant.organization.pk.hex[:12]}"
    page = FORMSPREE.replace("OLDID", old)

    dry = run(service, tenant, tmp_path, page, "--dry-run").json()
    assert (tmp_path / "page.html").read_text() == page
    assert [form["key"] for form in api.get("/api/forms", tenant.key).json()["data"]] == ["inbox"]
    done = run(service, tenant, tmp_path, page, "--write").json()

    form = done["form"]
    assert form == api.get(f"/api/forms/{form['id']}", tenant.key).json()["data"]
    assert (form["name"], form["address"], form["status"]) == ("Write to us", old, "published")
    assert form["fields"] == [
        field("email", "Your email", "Email", required=True),
        field("message", "Message", "Textarea", placeholder="Hello"),
    ]
    address = f"{service.base_url}/f/{old}"
    before = f'<form action="https://formspree.io/f/{old}"\n      method="POST" class=\'big\'>'
    script = f'<script>fetch("https://formspree.io/f/{old}", {{method: "POST"}})</script>'
    assert done["changes"] == [
        {"line": 3, "before": before, "after": f'<form action="{address}"\n      method="post" class=\'big\'>'},
        {"line": 12, "before": script, "after": script.replace(f"https://formspree.io/f/{old}", address)},
    ]
    assert dry["changes"] == done["changes"]
    assert dry["form"]["fields"] == form["fields"]
    assert [one["name"] for one in done["notCarriedOver"]] == ["_cc"]
    moved = (tmp_path / "page.html").read_text()
    assert moved.replace(address, f"https://formspree.io/f/{old}").replace('"post"', '"POST"') == page
    values = {"email": "ada@example.com", "message": "Hi", "_subject": "From the shop", "_gotcha": ""}
    action = re.search(r'action="([^"]+)"', moved)
    assert action is not None
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    sent = api.post(action[1].removeprefix(service.base_url), data=urlencode(values), headers=headers)
    assert sent.status in (200, 303), sent.text
    assert [one["data"] for one in records(api, tenant, form["id"])] == [{"email": "ada@example.com", "message": "Hi"}]


def test_migrate__address_that_is_taken__makes_the_form_without_it(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    old = f"x{tenant.organization.pk.hex[:12]}"
    api.request("PUT", "/api/forms/by-key/first", make_tenant().key, json={"name": "First", "address": old})

    done = run(service, tenant, tmp_path, FORMSPREE.replace("OLDID", old)).json()

    assert done["form"]["address"] is None
    assert done["changes"][0]["after"].startswith(f'<form action="{service.base_url}/f/{done["form"]["id"]}"')
    assert {one["name"] for one in done["notCarriedOver"]} == {"_cc", "address"}


def test_migrate__netlify__has_each_kind_of_input(service: Application, tmp_path: Path) -> None:
    done = run(service, make_tenant(), tmp_path, NETLIFY).json()

    form = done["form"]
    assert (form["name"], form["address"]) == ("jobs", None)
    assert form["fields"] == [
        field("days[]", "Days", "Checkbox", options=["Monday", "Tuesday"]),
        field("role", "Role", "Select", required=True, options=["Dev", "pm"]),
        field("cv", "CV", "File", accept=[".pdf", "image/*"], maxFiles=10, maxBytes=10_485_760),
        field("size", "Small", "Select", options=["S", "L"]),
        field("terms", "I agree", "Checkbox", required=True),
    ]
    assert done["changes"] == [
        {
            "line": 1,
            "before": NETLIFY.partition("\n")[0],
            "after": f'<form name="jobs" action="{service.base_url}/f/{form["id"]}" method="post" '
            'enctype="multipart/form-data"><input type="hidden" name="_next" value="/thanks">',
        }
    ]
    assert [one["name"] for one in done["notCarriedOver"]] == ["data-netlify-recaptcha"]


REACT = """import { useForm, ValidationError } from '@formspree/react';
export default function Join() {
  const [state, handleSubmit] = useForm<{ email: string }>("OLDID");
  return (
    <form onSubmit={(event) => handleSubmit(event)}>
      <label htmlFor="mail">Your email</label>
      <input onChange={(event) => keep(event.target.value)} id="mail" type="email" name="email" required />
      <ValidationError field="email" errors={state.errors} />
    </form>
  );
}
"""


def test_migrate__react_component__has_our_package_and_address(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()
    old = f"x{tenant.organization.pk.hex[:12]}"

    done = run(service, tenant, tmp_path, REACT.replace("OLDID", old), "--write").json()

    assert (done["form"]["address"], done["notCarriedOver"]) == (old, [])
    assert done["form"]["fields"] == [field("email", "Your email", "Email", required=True)]
    assert [one["line"] for one in done["changes"]] == [1, 3]
    moved = REACT.replace("@formspree/react", "@fieldpost/react").replace("OLDID", f"{service.base_url}/f/{old}")
    assert (tmp_path / "page.html").read_text() == moved


@pytest.mark.on_sqlite
@pytest.mark.parametrize("call", ["useForm(ID)", 'useForm("a"), useForm("b")'], ids=["a variable", "two"])
def test_migrate__react_component_without_one_id__says_so(call: str, service: Application, tmp_path: Path) -> None:
    page = f'import {{ useForm }} from "@formspree/react";\n{call}\n<form><input name="a" /></form>'

    done = run(service, make_tenant(), tmp_path, page, "--dry-run").json()

    assert [one["line"] for one in done["changes"]] == [1]
    assert [one["name"] for one in done["notCarriedOver"]] == ["useForm"]


@pytest.mark.parametrize(
    ("page", "fields", "left"),
    [
        (
            WEB3FORMS,
            [
                field("company", "Company"),
                field("firstName", "First name", required=True, placeholder="e.g. A1"),
                field("phone", "Phone number", "Phone"),
                field("utm", "Utm", "Hidden"),
            ],
            ["h-captcha", "from_name", "pin"],
        ),
        (BASIN, [field("email", "Email")], []),
        (GOOGLE, [field("entry.123", "Name")], []),
        ('<form action="/send"><input name=a disabled></form>', [field("a", "A")], []),
    ],
    ids=["Web3Forms", "Basin", "Google Forms", "its own server"],
)
def test_migrate__other_service__makes_its_fields(
    page: str, fields: list[Any], left: list[str], service: Application, tmp_path: Path
) -> None:
    done = run(service, make_tenant(), tmp_path, page).json()

    assert done["form"]["fields"] == fields
    assert [one["name"] for one in done["notCarriedOver"]] == left
    assert f'action="{service.base_url}/f/' in done["changes"][0]["after"]
    assert "netlify" not in done["changes"][0]["after"]


def test_migrate__page_with_several_forms__asks_which(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    search = '<form role="search"><input name="q"></form>'
    several = f"{search}\n{BASIN}\n{BASIN.replace('0123abcd', 'second')}"

    refused = run(service, tenant, tmp_path, several)
    assert refused.error() == (1, "several_forms")
    assert "2 in line 2, 3 in line 3" in refused.message
    second = run(service, tenant, tmp_path, several, "--nth", "3", "--dry-run").json()
    assert second["changes"][0]["line"] == 3
    assert run(service, tenant, tmp_path, f"{search}{BASIN}", "--dry-run").json()["form"]["name"] == "Contact"
    assert len(api.get("/api/forms", tenant.key).json()["data"]) == 1


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("page", "options", "code"),
    [
        ("<h1>No form</h1>", [], "no_form"),
        ("<form><button name=a>Go</button></form>", [], "no_form"),
        ("<!-- <form><input name=a></form> -->", [], "no_form"),
        (BASIN, ["--nth", "2"], "no_form"),
        (BASIN, ["--nth", "0"], "usage"),
        (BASIN, ["--write", "--dry-run"], "usage"),
        (BASIN + " " * 10_485_760, [], "too_large"),
        ("<form action='{base}/f/frm_1'><input name=a></form>", [], "moved_already"),
    ],
    ids=["nothing", "no inputs", "a comment", "no second", "no nought", "write nothing", "over 10 MB", "ours"],
)
def test_migrate__page_that_cannot_move__makes_nothing(
    page: str, options: list[str], code: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    page = page.replace("{base}", service.base_url)

    assert run(service, tenant, tmp_path, page, *options).error() == (1, code)
    assert len(api.get("/api/forms", tenant.key).json()["data"]) == 1
    assert (tmp_path / "page.html").read_text() == page


@pytest.mark.on_sqlite
def test_migrate__url__is_read_as_a_visitor_does(service: Application, receiver: Receiver, tmp_path: Path) -> None:
    command = command_of(service, make_tenant().key, tmp_path)
    receiver.replies.extend([Reply(302, {"Location": "/contact"}), Reply(200, body=BASIN.encode())])

    assert command.run("migrate", receiver.url("/"), "--dry-run").json()["form"]["fields"][0]["name"] == "email"
    assert all("x-access-key" not in request.headers for request in receiver.requests)
    receiver.reply = Reply(401, body=b"Log in")
    assert command.run("migrate", receiver.url("/")).error() == (1, "page_unavailable")
    receiver.reply = Reply(302, {"Location": "/again"})
    assert command.run("migrate", receiver.url("/")).error() == (1, "page_unavailable")
    receiver.reply = Reply(200, body=b"x" * 10_485_761)
    assert command.run("migrate", receiver.url("/")).error() == (1, "too_large")
    assert command.run("migrate", "http://127.0.0.1:1/").error() == (1, "unreachable")
    assert command.run("migrate", receiver.url("/"), "--write").error() == (1, "usage")
    assert command.run("migrate", "no-such-file.html").error() == (1, "invalid_file")
