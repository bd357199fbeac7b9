"""`fieldpost doctor`: a page with one thing wrong, and the check that says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forms_app.models import Form
from keys.access_keys import ALL_PERMISSIONS, issue_key
from keys.models import AccessKey
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.support.fieldpost_command import Command, command_of
from tests.support.tenants import Tenant, make_tenant, text_field

FIELDS = [text_field("name", required=True), text_field("mail", type="Email", required=True)]
SCRIPT = '<form><input name=name></form><script src="{base}/forms.js" data-key="{key}" data-form-id="{form}"></script>'
PLAIN = '<form method="post" action="{base}/f/{form}"><input name=name></form>'
CHECKS = ["network", "page", "form", "script", "key", "origin", "csp", "submit", "webhook", "mail"]
FINE_SCRIPT = {"network", "page", "form", "script", "key", "origin", "csp", "submit"}
FINE_PLAIN = FINE_SCRIPT - {"script", "key"}


def doctor(command: Command, *arguments: str) -> dict[str, list[str]]:
    """Return the checks that hold and those that failed; the status must fit."""
    ran = command.run("doctor", *arguments)
    shown = json.loads(ran.out)
    assert [check["name"] for check in shown["checks"]] == CHECKS
    by_result: dict[str, list[str]] = {
        str(ok): [check["name"] for check in shown["checks"] if check["ok"] is ok] for ok in (True, False)
    }
    assert (ran.status, shown["ok"]) == ((1, False) if by_result["False"] else (0, True)), ran.err
    assert all(check["message"] for check in shown["checks"])
    return by_result


def command_with_test_key(service: Application, tenant: Tenant, folder: Path) -> Command:
    _, key = issue_key(
        organization=tenant.organization, name="Laptop", by=None, permissions=ALL_PERMISSIONS, mode=AccessKey.Mode.TEST
    )
    return command_of(service, key, folder)


@pytest.mark.parametrize(("page", "fine"), [(SCRIPT, FINE_SCRIPT), (PLAIN, FINE_PLAIN)], ids=["script", "plain"])
def test_doctor__page_that_works__says_so_and_sends_one_test_submission(
    page: str, fine: set[str], service: Application, api: Client, receiver: Receiver, tmp_path: Path
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)
    body = page.format(base=service.base_url, key=tenant.publishable, form=form_id)
    receiver.reply = Reply(200, {"Content-Security-Policy": f"default-src {service.base_url}"}, body.encode())
    command = command_with_test_key(service, tenant, tmp_path)

    found = doctor(command, receiver.url("/contact"))

    assert (set(found["True"]), found["False"]) == (fine, [])
    assert api.get("/api/submissions", tenant.key).json()["data"] == []
    [sent] = api.get("/api/submissions?test=true", tenant.key).json()["data"]
    assert (sent["formId"], sent["data"].keys()) == (form_id, {"name", "mail"})


def test_doctor__without_a_page__tries_the_default_form(service: Application, tmp_path: Path) -> None:
    found = doctor(command_with_test_key(service, make_tenant(), tmp_path))

    assert found == {"True": ["network", "submit"], "False": []}


def draft(form: Form) -> None:
    form.status = Form.Status.DRAFT


def other_origin(form: Form) -> None:
    form.allowed_origins = ["https://other.example"]


def unchanged(_form: Form) -> None:
    """Leave the form as it is."""


CASES: dict[str, tuple[str, Callable[[Form], None], dict[str, str], str]] = {
    "no form": ("<h1>Hello</h1>", unchanged, {}, "form"),
    "form of nobody": (PLAIN.replace("{form}", "frm_01ja0000000000000000000000"), unchanged, {}, "form"),
    "draft": (PLAIN, draft, {}, "form"),
    "script that is gone": (SCRIPT.replace("forms.js", "forms.0.js"), unchanged, {}, "script"),
    "no key": (SCRIPT.replace("{key}", ""), unchanged, {}, "key"),
    "secret key": (SCRIPT.replace("{key}", "{secret}"), unchanged, {}, "key"),
    "key of nobody": (SCRIPT.replace("{key}", "fp_pub_x"), unchanged, {}, "key"),
    "another origin": (SCRIPT, other_origin, {}, "origin"),
    "policy": (SCRIPT, unchanged, {"Content-Security-Policy": "connect-src 'self'"}, "csp"),
    "policy in the page": (
        PLAIN + """<meta http-equiv=Content-Security-Policy content="form-action 'self'">""",
        unchanged,
        {},
        "csp",
    ),
}


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("page", "change", "headers", "failed"), CASES.values(), ids=CASES.keys())
def test_doctor__page_with_one_thing_wrong__names_it(
    page: str,
    change: Callable[[Form], None],
    headers: dict[str, str],
    failed: str,
    service: Application,
    api: Client,
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)
    form = Form.objects.get(organization=tenant.organization, is_default=False)
    change(form)
    form.save()
    values: dict[str, Any] = {"key": tenant.publishable, "secret": tenant.key, "form": form_id}
    receiver.reply = Reply(200, headers, page.format(base=service.base_url, **values).encode())

    found = doctor(command_with_test_key(service, tenant, tmp_path), receiver.url("/contact"))

    assert found["False"] == [failed]
    assert "submit" not in found["True"]
    assert api.get("/api/submissions?test=true", tenant.key).json()["data"] == []


@pytest.mark.on_sqlite
def test_doctor__page_or_service_away__says_which(service: Application, receiver: Receiver, tmp_path: Path) -> None:
    command = command_with_test_key(service, make_tenant(), tmp_path)
    receiver.reply = Reply(404)

    assert doctor(command, receiver.url("/contact")) == {"True": ["network"], "False": ["page"]}
    assert doctor(Command(tmp_path, "http://127.0.0.1:1", command.key)) == {"True": [], "False": ["network"]}
    assert Command(tmp_path, service.base_url, "fp_test_wrong").run("doctor").error() == (1, "invalid_access_key")
    assert command_of(service, make_tenant().key, tmp_path).run("doctor").error() == (1, "live_key")
