"""`fieldpost trigger`: a submission with values that fit the form."""

from pathlib import Path
from typing import Any

import pytest

from forms_app.field_kinds import FieldType
from tests.services.application import Application
from tests.services.client import Client
from tests.support.fieldpost_command import command_of
from tests.support.replies import TIME, an_id
from tests.support.submitting import records
from tests.support.tenants import make_tenant, text_field

EVENT = "submission.created"


def every_type() -> list[dict[str, Any]]:
    fields = [{"name": kind.value, "label": kind.value, "type": kind.value, "required": True} for kind in FieldType]
    for field in fields:
        if field["type"] in (FieldType.SELECT, FieldType.CHECKBOX):
            field["options"] = ["First", "Second"]
    return [*fields, {"name": "photo", "label": "Photo", "type": "File", "required": True, "accept": ["image/*"]}]


def test_trigger__form_with_every_type__is_accepted(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    form_id, command = tenant.form(fields=every_type()), command_of(service, tenant.key, tmp_path)
    (tmp_path / "cv.txt").write_text("A CV")

    sent = command.run("trigger", EVENT, "--form", "contact", "--live", "--override", "Text=a=b", "--override", "x=1")
    with_file = command.run("trigger", EVENT, "--form", "contact", "--live", "--override", "File=@cv.txt")

    assert sent.json() == {"id": an_id("sub"), "formId": form_id, "createdAt": TIME}
    first, second = records(api, tenant, form_id)
    assert first["data"].keys() == {field["name"] for field in every_type()} | {"x"}
    assert (first["data"]["Text"], first["data"]["x"], first["data"]["Select"]) == ("a=b", "1", "First")
    assert [file["type"] for file in first["files"]] == ["application/pdf", "image/png"]
    assert with_file.status == 0
    assert [file["name"] for file in second["files"]] == ["cv.txt", "example.png"]


def test_trigger__without_a_form__goes_to_the_default_form(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()

    sent = command_of(service, tenant.key, tmp_path).run("trigger", EVENT, "--live").json()

    assert sent["formId"] == tenant.default_form_id
    assert records(api, tenant, tenant.default_form_id)[0]["data"].keys() == {"name", "email", "message"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([EVENT], "live_key"),
        (["submission.deleted", "--live"], "usage"),
        ([EVENT, "--live", "--form", "none"], "not_found"),
        ([EVENT, "--live", "--override", "name"], "usage"),
        ([EVENT, "--live", "--form", "contact", "--override", "mail=ada"], "validation_error"),
        ([EVENT, "--live", "--form", "contact", "--override", "mail=@no-such-file"], "invalid_file"),
    ],
)
def test_trigger__refused__sends_nothing(
    arguments: list[str], code: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    tenant.form(fields=[text_field("mail", type="Email")])

    assert command_of(service, tenant.key, tmp_path).run("trigger", *arguments).error() == (1, code)
    assert api.get("/api/submissions", tenant.key).json()["data"] == []
