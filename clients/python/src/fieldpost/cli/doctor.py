"""`fieldpost doctor`: what keeps a page's form from arriving, found by asking as the page does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import click
from urllib3.exceptions import HTTPError

from fieldpost.cli.content_policy import origin_of, refused_by
from fieldpost.cli.listen import key_mode
from fieldpost.cli.output import CommandError, printable, show
from fieldpost.cli.page_forms import ScriptTag, forms_of, policies_of, scripts_of
from fieldpost.cli.pages import Page, fetch_page
from fieldpost.cli.session import Session, open_session
from fieldpost.cli.trigger import example_values
from fieldpost.client import Client
from fieldpost.errors import APIError, Error
from fieldpost.records import Form
from fieldpost.transport import Transport, pool_for

CHECKS = ("network", "page", "form", "script", "key", "origin", "csp", "submit", "webhook", "mail")
DELIVERED_SECONDS = 20.0  # for what a form delivers
NOTHING_SECONDS = 3.0  # after which a form without recipients has delivered nothing
POLL_SECONDS = 0.5
NOT_REACHED = "Not reached, or not needed."
NO_FORM = (
    "No form of the page posts to {base}, and it has no script tag of forms.js there. If another script sends it, "
    "as in a React app, send the form once: Refused in the dashboard says what is wrong."
)
FINAL = {"delivered": True, "recorded": True, "failed": False, "canceled": False}


class Failed(Exception):
    """A check has failed; those that need it are not reached."""


@dataclass
class Examination:
    """The results so far, by check: whether it holds, and a sentence."""

    client: Client
    results: dict[str, tuple[bool | None, str]] = field(default_factory=dict)

    @contextmanager
    def check(self, name: str, fine: str) -> Iterator[None]:
        """Note that a check holds, or the error that says why not."""
        try:
            yield
        except (Error, HTTPError) as error:
            self.results[name] = False, str(error)
            raise Failed from None
        self.results.setdefault(name, (True, fine))

    def shown(self) -> dict[str, Any]:
        checks = [
            {"name": name, "ok": self.results[name][0], "message": self.results[name][1]}
            if name in self.results
            else {"name": name, "ok": None, "message": NOT_REACHED}
            for name in CHECKS
        ]
        return {"ok": all(ok is not False for ok, _ in self.results.values()), "checks": checks}


@click.command()
@click.argument("url", required=False)
def doctor(url: str | None) -> int:
    """
    Find out what keeps submissions from arriving.

    With the address of a page it asks for everything that the page needs. It sends one test submission to the page's
    form, or to the default form, and follows it to webhooks and mails.
    """
    session = open_session("test")
    found = Examination(session.client())
    try:
        _check_network(found, session)
        form = _examine_page(found, session.url, url) if url else _default_form(found)
        _examine_story(found, form)
    except Failed:
        pass
    document = found.shown()
    show(document, lambda: "\n".join(_line(one) for one in document["checks"] if one["message"] != NOT_REACHED))
    return 0 if document["ok"] else 1


def _check_network(found: Examination, session: Session) -> None:
    """Ask whose key it is. Only a service that is not there is a result; a wrong key is an error of the command."""
    try:
        key_mode(session, is_live_fine=False)
    except Error as error:
        if error.code not in ("unreachable", "not_fieldpost"):
            raise
        found.results["network"] = False, error.message
        raise Failed from None
    found.results["network"] = True, f"{session.url} answers."


def _line(check: dict[str, Any]) -> str:
    sign, colour = {True: ("✓", "green"), False: ("✗", "red"), None: ("-", None)}[check["ok"]]
    return f"{click.style(sign, fg=colour)} {check['name']}: {printable(check['message'])}"


def _default_form(found: Examination) -> Form:
    return next(form for form in found.client.forms.list() if form["isDefault"])


def _examine_page(found: Examination, base: str, url: str) -> Form:
    """Check what the page has, and return its form."""
    with found.check("page", f"{url} answers."):
        page = fetch_page(url)
    text = page.body.decode("utf-8", "replace")
    with found.check("form", "The form is published."):
        named, script = _form_named_in(text, page, base)
        form = _found_form(found.client, named)
    if script is not None:
        _check_script(found, base, page, script)
    _check_origin(found, page, form, script)
    policies = [page.headers.get("Content-Security-Policy") or "", *policies_of(text)]
    directives = ("script-src-elem", "connect-src") if script else ("form-action",)
    with found.check("csp", "No policy of the page is in the way."):
        if refused := refused_by(policies, directives, page.url, base):
            raise CommandError("csp", f"Add {origin_of(base)} to {' and '.join(refused)} of the page's policy.")
    return form


def _form_named_in(text: str, page: Page, base: str) -> tuple[str, ScriptTag | None]:
    """Return the id or address of the form that the page sends to, "" for the default form, and the tag of forms.js."""
    forms = forms_of(text)
    start = f"{base}/f/"
    for form in forms:
        action = urljoin(page.url, form.attributes.get("action", ""))
        if action.startswith(start):
            return action.removeprefix(start).partition("?")[0].split("/")[0], None
    script = next((one for one in scripts_of(text) if _is_ours(urljoin(page.url, one.attributes["src"]), base)), None)
    if script is None:
        raise CommandError("form", NO_FORM.format(base=base))
    own = next((form.attributes["data-form-id"] for form in forms if "data-form-id" in form.attributes), "")
    return own or script.attributes.get("data-form-id", ""), script


def _is_ours(src: str, base: str) -> bool:
    name = urlsplit(src).path.rpartition("/")[2]
    return origin_of(src) == origin_of(base) and name.startswith("forms.") and name.endswith(".js")


def _found_form(client: Client, named: str) -> Form:
    for form in client.forms.list():
        if named in (form["id"], form["address"]) or (not named and form["isDefault"]):
            if form["status"] != "published":
                raise CommandError("form", f"The form {form['key']} is a draft: publish it.")
            return form
    raise CommandError("form", f"The organization of this key has no form {named}, or it is archived.")


def _check_script(found: Examination, base: str, page: Page, script: ScriptTag) -> None:
    with found.check("script", "The script is there."):
        src = urljoin(page.url, script.attributes["src"])
        status = pool_for(src).urlopen("GET", src, redirect=False).status
        if status != 200:
            raise CommandError("script", f"{src} answered {status}: take the script tag that the form's page shows.")
    key = script.attributes.get("data-key", "")
    with found.check("key", "The key of the page is a valid publishable key."):
        if "_pub_" not in key:
            advice = "a secret key, which every visitor can read: revoke it" if key else "no data-key"
            raise CommandError("key", f"The script tag has {advice}. Take the tag that the form's page shows.")
        code = _refusal(Transport(base, key), page, "")
        if code in ("invalid_access_key", "suspended"):
            raise CommandError("key", f"The service refuses the key of the page: {code}.")


def _check_origin(found: Examination, page: Page, form: Form, script: ScriptTag | None) -> None:
    """Ask with an empty submission, which is never stored, from the origin of the page."""
    key = script.attributes["data-key"] if script else found.client.transport.key
    with found.check("origin", f"Submissions from {origin_of(page.url)} are taken."):
        code = _refusal(Transport(found.client.transport.url, key), page, form["id"])
        if code == "origin_not_allowed":
            raise CommandError("origin", f"Add {origin_of(page.url)} to the allowed origins of the form {form['key']}.")


def _refusal(transport: Transport, page: Page, form_id: str) -> str:
    headers = {"Origin": origin_of(page.url)}
    query = {"formId": form_id} if form_id else {}
    try:
        transport.request("POST", "/api/submit", query=query, json_body={}, headers=headers)
    except APIError as error:
        return error.code
    return ""


def _examine_story(found: Examination, form: Form) -> None:
    """Send a test submission, and follow it to its deliveries."""
    with found.check("submit", f"A test submission to the form {form['key']} was stored."):
        values, files = example_values(form["fields"])
        sent = found.client.submit(form["id"], values, files=files)
    expects = any(one.get("status") == "active" for one in form.get("recipients", []))
    deliveries = _deliveries(found.client, sent["id"], DELIVERED_SECONDS if expects else NOTHING_SECONDS)
    for name, channels in (("webhook", {"webhook"}), ("mail", {"mail"})):
        mine = [one for one in deliveries if one["channel"] in channels]
        if wrong := [one for one in mine if not FINAL.get(one["status"], False)]:
            found.results[name] = False, f"The delivery to {wrong[0]['target']} is {wrong[0]['status']}."
        elif mine:
            found.results[name] = True, f"Delivered to {', '.join(str(one['target']) for one in mine)}."
        elif name == "mail" and expects:
            found.results[name] = False, "The form has recipients, and no mail was made."
        elif name == "mail" and not form.get("recipients"):
            found.results[name] = None, "Nobody gets mails of this form: it has no recipients."


def _deliveries(client: Client, submission_id: str, seconds: float) -> list[dict[str, Any]]:
    """Return the deliveries of a submission when all are final, or after this time."""
    end = time.monotonic() + seconds
    while True:
        path = f"/api/submissions/{submission_id}/deliveries"
        found: list[dict[str, Any]] = client.transport.request("GET", path, query={"limit": "100"}).data
        if time.monotonic() > end or (found and all(one["status"] in FINAL for one in found)):
            return found
        time.sleep(POLL_SECONDS)
