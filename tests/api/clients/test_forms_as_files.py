"""`fieldpost forms`: forms as files, compared with the running service and changed there."""

import json
from pathlib import Path
from typing import Any

import pytest

from forms_app.field_kinds import FieldType
from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import person_of
from tests.support.fieldpost_command import Command, command_of
from tests.support.tenants import Tenant, make_tenant, text_field

SECRET = "0x4AAA-the-secret-of-ada"
ODD = (
    "# no comment: {a} [b] 'c' \"d\"\n  two blanks\n\n- trailing blank \n\ttab\u2028separator \U0001f389 ${NAME} end\n"
)
LIKE_OTHERS = ["yes", "No", "null", "~", "1.50", "2026-01-31", "0x1F", "1e3", "", " ", "!tag", "&a", "*a", "a: b", "#"]


def put(api: Client, tenant: Tenant, key: str = "contact", **document: Any) -> None:
    answer = api.request("PUT", f"/api/forms/by-key/{key}", tenant.key, json={"name": "Contact", **document})
    assert answer.status in (200, 201), answer.text


def document(api: Client, tenant: Tenant, key: str = "contact") -> Any:
    return api.get(f"/api/forms/by-key/{key}", tenant.key).json()["data"]


def every_type() -> list[dict[str, Any]]:
    """Return a field of each type, with each member that one may have."""
    fields = []
    for kind in FieldType:
        more: dict[str, Any] = {"placeholder": ODD[:400], "help": "Ask: why?\nBecause."}
        if kind in (FieldType.SELECT, FieldType.CHECKBOX):
            more["options"] = [value for value in LIKE_OTHERS if value.strip()]
        if kind is FieldType.FILE:
            more |= {"accept": [".pdf", "image/*"], "maxFiles": 3, "maxBytes": 5_000_000}
        fields.append({"name": f"a {kind.value}", "label": f"{kind.value}: yes", "type": kind.value, **more})
    fields.append({**text_field("email", type="Email"), "required": True})
    return fields


def test_pull__then_plan__has_no_changes_whatever_the_form_has(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    owner = person_of(tenant).email
    put(
        api,
        tenant,
        fields=every_type(),
        spam={
            "captcha": "turnstile",
            "siteKey": "0x1",
            "secret": SECRET,
            "blockedWords": ["no", "1.0", "null"],
            "maxLinks": 0,
        },
        reply={"enabled": True, "subject": "Thanks: yes", "text": "Hello {email}\n\n  Soon. \n"},
        confirmation=True,
        recipients=[{"email": owner}],
        replyTo=owner,
        description=ODD,
        successMessage="Thanks:\n\n  soon\n",
        buttonLabel="yes",
        accent="#2563eb",
        allowedOrigins=["https://a.example", "https://*.b.example"],
        retentionDays=30,
        language="ar",
        status="published",
    )
    before = document(api, tenant)
    command = command_of(service, tenant.key, tmp_path)

    pulled = command.run("forms", "pull")
    planned, drifted = command.run("forms", "plan"), command.run("forms", "drift")
    again, applied = command.run("forms", "pull"), command.run("forms", "apply")

    contact, inbox = str(Path("forms/contact.yaml")), str(Path("forms/inbox.yaml"))
    assert pulled.json() == {
        "forms": [
            {"key": "contact", "path": contact, "status": "created"},
            {"key": "inbox", "path": inbox, "status": "created"},
        ]
    }
    assert [(ran.status, ran.json()) for ran in (planned, drifted, applied)] == [(0, {"forms": []})] * 3
    assert [one["status"] for one in again.json()["forms"]] == ["unchanged", "unchanged"]
    assert document(api, tenant) == before
    text = (tmp_path / contact).read_text()
    assert text.startswith(f"# yaml-language-server: $schema={service.base_url}/form.schema.json\n")
    assert SECRET not in text
    assert "…" not in text
    assert (tmp_path / "forms" / ".gitignore").read_text() == ".fieldpost.json\n"


def test_drift__form_changed_in_the_builder__is_named_and_apply_restores_it(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    put(api, tenant, fields=[text_field("phone"), text_field("city")])
    command = command_of(service, tenant.key, tmp_path)
    command.run("forms", "pull").json()
    before = document(api, tenant)
    put(api, tenant, fields=[{**text_field("phone"), "label": "Telephone"}], buttonLabel="Go")

    drifted = command.run("forms", "drift")
    applied = command.run("forms", "apply", "--yes")

    city = {**text_field("city"), "required": False}
    changes = [
        {"path": "fields.phone.label", "from": "Telephone", "to": "Phone"},
        {"path": "fields.city", "from": None, "to": city},
        {"path": "buttonLabel", "from": "Go", "to": ""},
    ]
    expected = {"forms": [{"key": "contact", "action": "update", "changes": changes}]}
    assert (drifted.status, drifted.json()) == (2, expected)
    assert (applied.status, applied.json()) == (0, expected)
    assert document(api, tenant) == before
    assert command.run("forms", "drift").status == 0


def test_apply__form_changed_since_it_was_seen__is_refused_until_one_looks(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    put(api, tenant)
    command = command_of(service, tenant.key, tmp_path)
    command.run("forms", "pull", "contact").json()
    put(api, tenant, description="By somebody else.")
    changed = document(api, tenant)

    refused = command.run("forms", "apply", "--yes")

    assert refused.error() == (1, "precondition_failed")
    assert "forms plan" in refused.message
    assert document(api, tenant) == changed
    assert command.run("forms", "plan").status == 2
    assert command.run("forms", "apply", "--yes").status == 0
    assert document(api, tenant)["description"] == ""


def test_apply__form_archived_since_it_was_seen__is_refused(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    form_id, command = tenant.form(), command_of(service, tenant.key, tmp_path)
    command.run("forms", "pull", "contact").json()
    api.delete(f"/api/forms/{form_id}", tenant.key)

    assert command.run("forms", "apply", "--yes").error() == (1, "precondition_failed")
    assert command.run("forms", "plan").json()["forms"][0]["action"] == "create"
    assert command.run("forms", "apply", "--yes").status == 0
    assert document(api, tenant)["name"] == "Contact"


def test_apply__new_file__is_asked_for_and_makes_the_form(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    command = command_of(service, tenant.key, tmp_path)
    write(tmp_path, "orders", "name: Orders\nstatus: published\nfields:\n  - {label: Size, type: Text}\n")

    planned = command.run("forms", "plan")
    asked = command.run("forms", "apply")
    assert asked.error() == (1, "confirmation_required")
    assert api.get("/api/forms/by-key/orders", tenant.key).status == 404
    applied = command.run("forms", "apply", "--yes")

    [form] = planned.json()["forms"]
    assert (planned.status, form["action"]) == (2, "create")
    assert [(change["path"], change["from"]) for change in form["changes"]] == [("", None)]
    assert applied.json() == planned.json()
    assert document(api, tenant, "orders")["fields"] == [{**text_field("size"), "required": False}]


def test_prune__forms_without_a_file__are_archived_but_the_default_form(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    put(api, tenant)
    put(api, tenant, "old")
    command = command_of(service, tenant.key, tmp_path)

    empty = command.run("forms", "apply", "--prune", "--yes")
    assert empty.error() == (1, "no_form")
    command.run("forms", "pull", "contact").json()
    kept = command.run("forms", "apply", "--yes")
    planned = command.run("forms", "plan", "--prune")
    applied = command.run("forms", "apply", "--prune", "--yes")

    assert kept.json() == {"forms": []}
    archived = {"path": "status", "from": "draft", "to": "archived"}
    expected = {"forms": [{"key": "old", "action": "archive", "changes": [archived]}]}
    assert (planned.status, planned.json()) == (2, expected)
    assert applied.json() == expected
    assert [form["key"] for form in json.loads(command.run("forms", "list").out)] == ["contact", "inbox"]


def test_secret__of_a_captcha__is_the_variable_that_the_file_names(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    command = command_of(service, tenant.key, tmp_path)
    spam = "name: Orders\nspam:\n  captcha: turnstile\n  siteKey: '0x1'\n  secret: SECRET\n"
    write(tmp_path, "orders", spam.replace("SECRET", SECRET))
    assert command.run("forms", "plan").error() == (1, "invalid_file")
    write(tmp_path, "orders", spam.replace("SECRET", "${TURNSTILE}  # of ada"))

    missing = command.run("forms", "apply", "--yes")
    assert missing.error() == (1, "missing_secret")
    assert "TURNSTILE" in missing.message
    assert command.run("forms", "apply", "--yes", TURNSTILE=SECRET).status == 0

    assert document(api, tenant, "orders")["spam"]["secret"] == {"hint": "…-ada"}
    assert command.run("forms", "drift").json() == {"forms": []}
    other = command.run("forms", "plan", TURNSTILE="another-secret").json()["forms"][0]["changes"]
    assert other == [{"path": "spam.secret", "from": {"hint": "…-ada"}, "to": {"hint": "…cret"}}]
    put(api, tenant, "orders", spam={"captcha": "turnstile", "siteKey": "0x2"})
    command.run("forms", "pull").json()
    text = (tmp_path / "forms" / "orders.yaml").read_text()
    assert "siteKey: 0x2" in text.replace("'", "")
    assert "${TURNSTILE}" in text


def test_pull__file_with_comments__keeps_them_and_its_order(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    put(api, tenant, fields=[text_field("name"), text_field("city")], description="Old")
    command = command_of(service, tenant.key, tmp_path)
    text = """\
# Ours, see the wiki.
fields:
  # Who writes
  - label: Name # as they say it
    name: name
    type: Text
  - {name: "city", label: City, type: Text}
description: 'Old' # above the fields
name: Contact
"""
    write(tmp_path, "contact", text)
    command.run("forms", "plan", "contact").json()
    put(api, tenant, fields=[text_field("name"), {**text_field("city"), "label": "Town"}], description="New")

    pulled = command.run("forms", "pull", "contact")

    assert pulled.json()["forms"][0]["status"] == "updated"
    first, rest = (tmp_path / "forms" / "contact.yaml").read_text().split("\n", 1)
    assert first.startswith("# yaml-language-server: ")
    expected = text.replace("label: City, type: Text", "label: Town, type: Text, required: false")
    expected = expected.replace("    type: Text\n", "    type: Text\n    required: false\n")
    assert rest == expected.replace("'Old'", "'New'")
    assert command.run("forms", "plan").json() == {"forms": []}


def test_plan__key_that_only_reads__may_plan_and_not_apply(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    put(api, tenant, recipients=[{"email": person_of(tenant).email}])
    reader = command_of(service, tenant.issue("forms:read"), tmp_path)
    command_of(service, tenant.key, tmp_path).run("forms", "pull").json()
    put(api, tenant, description="New")

    assert reader.run("forms", "plan").status == 2
    assert reader.run("forms", "apply", "--yes").error() == (1, "unauthorized")
    assert reader.run("forms", "pull").status == 0
    assert "recipients" in (tmp_path / "forms" / "contact.yaml").read_text()


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("contact", b"name: [", "invalid_file"),
        ("contact", b"- a list", "invalid_file"),
        ("contact", b"", "invalid_file"),
        ("contact", b"name: \xff\xfe", "invalid_file"),
        ("contact", b"name: a\nname: b", "invalid_file"),
        ("contact", b"name: a\nkey: other", "invalid_file"),
        ("contact", b"name: a\n1: b", "invalid_file"),
        ("contact", b"name: !!binary aGVsbG8=", "invalid_file"),
        ("Contact", b"name: a", "invalid_file"),
        ("contact", b"name: a\ncolour: red", "validation_error"),
        ("contact", b"name: 2026-01-31\nretentionDays: '5'", "validation_error"),
    ],
)
def test_apply__one_wrong_file__changes_no_form(
    name: str, content: bytes, code: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    write(tmp_path, "a-good-one", "name: Good\n")
    write(tmp_path, name, content)

    refused = command_of(service, tenant.key, tmp_path).run("forms", "apply", "--yes")

    assert refused.error() == (1, code)
    assert name in refused.message
    assert api.get("/api/forms/by-key/a-good-one", tenant.key).status == 404


def write(folder: Path, name: str, content: str | bytes) -> None:
    """Write the file of a form."""
    path = folder / "forms" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_forms__of_other_installations__are_seen_apart(tmp_path: Path, service: Application) -> None:
    tenant, other = make_tenant(), make_tenant()
    write(tmp_path, "orders", "name: Orders\n")
    assert command_of(service, tenant.key, tmp_path).run("forms", "apply", "--yes").status == 0
    elsewhere = service.base_url.replace("127.0.0.1", "localhost")

    made = Command(tmp_path, elsewhere, other.key).run("forms", "apply", "--yes")

    assert made.json()["forms"][0]["action"] == "create"
    assert json.loads((tmp_path / "forms" / ".fieldpost.json").read_text()).keys() == {service.base_url, elsewhere}
