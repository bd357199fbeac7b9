"""Importing a file on screen: columns, ten rows, progress, refused rows, undo (docs/dashboard.md)."""

import csv
import json
import re
from io import StringIO

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.models import Form
from submissions.models import Import, ImportFile, Submission
from tests.services.client import Answer
from tests.support.browser import Browser, place, text_of
from tests.support.posted_files import FILE_HEADERS, body_of
from tests.support.tenants import Tenant, make_tenant, text_field

ROWS = "Wann;E-Mail;IP;Junk\n31.01.2024 09:30;ada@example.com;192.0.2.1;no\n31.02.2024 09:30;bob@example.com;;yes\n"


def page(tenant: Tenant) -> str:
    return place(tenant, f"forms/{tenant.default_form_id}/import")


def upload(browser: Browser, path: str, name: str, content: bytes, preset: str = "") -> Answer:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(path).text)
    assert token
    parts = [("csrfmiddlewaretoken", None, token[1].encode()), ("preset", None, preset.encode())]
    body = body_of([*parts, ("file", name, content)])
    return browser.api.post(path, data=body, headers={**browser.headers(), **FILE_HEADERS})


def stored(tenant: Tenant) -> list[tuple[str, dict[str, str], bool]]:
    rows = Submission.objects.filter(organization=tenant.organization).order_by("id")
    return [(f"{row.created_at:%Y-%m-%d %H:%M}", row.data, row.spam) for row in rows]


def test_file__of_another_service__is_mapped_previewed_imported_and_undone(tenant: Tenant, member: Browser) -> None:
    sent = upload(member, page(tenant), "Export Mai.csv", ROWS.encode("cp1252"))
    columns = sent.headers["Location"]
    shown = member.get(columns)
    for part in ("Export Mai.csv", "2 rows", "E-Mail", "ada@example.com", "Say which column has the time"):
        assert part in text_of(shown)
    chosen = {"use__0": "time", "name__1": "email", "use__1": "value", "use__2": "none", "use__3": "spam"}
    times = {"zone": "Europe/Berlin", "date_format": "%d.%m.%Y %H:%M"}
    shown = member.send(columns, do="show", **chosen, **times)
    assert "email : ada@example.com" in text_of(shown)
    assert "This is no time: 31.02.2024 09:30" in text_of(shown) or "Say in which format" in text_of(shown)
    assert stored(tenant) == []

    done = member.follow(member.send(columns, do="import", **chosen, **times))
    assert "2 of 2 rows" in text_of(done)
    assert stored(tenant) == [("2024-01-31 08:30", {"email": "ada@example.com"}, False)]
    refused = member.get(f"{columns}/refused")
    assert refused.headers["Content-Disposition"] == 'attachment; filename="refused.csv"'
    lines = list(csv.reader(StringIO(refused.text.removeprefix("\ufeff"))))
    assert lines[0] == ["_row", "_field", "_code", "_message", "Wann", "E-Mail", "IP", "Junk"]
    assert [lines[1][0], *lines[1][4:]] == ["2", "31.02.2024 09:30", "bob@example.com", "", "yes"]

    batch = Import.objects.get(organization=tenant.organization)
    assert "Export Mai.csv , 1 submission" in text_of(member.get(page(tenant)))
    again = upload(member, page(tenant), "Again.csv", ROWS.encode("cp1252")).headers["Location"]
    member.send(again, do="import", **chosen, **times)
    assert "Again.csv" not in text_of(member.get(page(tenant)))  # it has nothing to undo
    undo = place(tenant, f"forms/{tenant.default_form_id}/imports/{batch.public_id}/undo")
    assert "The import is undone." in text_of(member.follow(member.post(undo, form=page(tenant))))
    assert stored(tenant) == []


def test_file__with_a_preset__needs_no_choice(tenant: Tenant, member: Browser) -> None:
    record = {"created_at": "2020-10-13T14:02:06.088Z", "number": 6, "data": {"name": "Ada", "ip": "192.0.2.1"}}
    columns = upload(member, page(tenant), "rows.json", json.dumps([record]).encode(), "netlify").headers["Location"]
    shown = text_of(member.get(columns))
    assert "name : Ada" in shown
    assert "ip : 192" not in shown
    names = {"use__0": "value", "use__1": "none", "use__2": "time", "use__3": "id"}
    member.send(columns, do="import", zone="UTC", **names)
    assert stored(tenant) == [("2020-10-13 14:02", {"name": "Ada"}, False)]


def test_file__with_columns_like_the_fields__is_mapped_by_itself(tenant: Tenant, member: Browser) -> None:
    form = tenant.form(fields=[text_field("name", label="Your name"), text_field("email", type="Email")])
    rows = "Submitted At,YOUR NAME,E-Mail,name,Other\n2024-01-31T09:30:00Z,Ada,a@b.example,x,y\n"

    columns = upload(member, place(tenant, f"forms/{form}/import"), "a.csv", rows.encode()).headers["Location"]

    shown = text_of(member.get(columns))
    assert "email : a@b.example" in shown
    assert "YOUR NAME : Ada" in shown  # another column has the name of its field


def test_file__of_many_rows__goes_on_step_by_step(tenant: Tenant, member: Browser) -> None:
    rows = "at,n\n" + "".join(f"2024-01-31T09:30:00Z,{number}\n" for number in range(1_200))
    columns = upload(member, page(tenant), "rows.csv", rows.encode()).headers["Location"]
    choice = {"use__0": "time", "use__1": "value", "zone": "UTC"}
    answer = member.send(columns, do="import", **choice)
    for _ in range(5):
        shown = member.follow(answer)
        if "1,200 of 1,200 rows" in text_of(shown):
            break
        answer = member.post(f"{columns}/next", form=columns)
    assert len(stored(tenant)) == 1_200
    assert member.post(f"{columns}/next", form=columns).status == 302  # nothing is left
    file = ImportFile.objects.get(organization=tenant.organization)
    assert (file.read, file.imported, file.skipped, file.refused) == (1_200, 1_200, 0, 0)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rows.csv", b'a,b\n"never closed,1\n', "line 2: a quotation mark is opened and not closed"),
        ("rows.xlsx", b"PK", "The name of the file must end in .csv, .json or .ndjson."),
        ("rows.csv", b"a,b\n", "The file has no rows."),
        ("rows.json", b"{}", "The file has no list of objects."),
    ],
)
def test_file__that_cannot_be_read__is_refused_at_its_input(
    tenant: Tenant, member: Browser, name: str, content: bytes, says: str
) -> None:
    answer = upload(member, page(tenant), name, content)
    assert (answer.status, says in text_of(answer)) == (400, True)
    assert not ImportFile.objects.filter(organization=tenant.organization).exists()


def test_file__of_megabytes__is_taken_here_alone(tenant: Tenant, member: Browser) -> None:
    row = b"2024-01-31," + b"x" * 60_000 + b"\n"
    content = b"at,text\n" + row * 100  # 6 MB
    assert upload(member, page(tenant), "rows.csv", content).status == 302
    elsewhere = member.api.post(
        place(tenant, "forms/new/file"),
        data=body_of([("file", "rows.csv", content)]),
        headers={**member.headers(), **FILE_HEADERS},
    )
    assert elsewhere.status in (403, 413)


def test_file__of_another_form_or_organization__is_not_found(tenant: Tenant, member: Browser) -> None:
    columns = upload(member, page(tenant), "rows.csv", ROWS.encode()).headers["Location"]
    other = tenant.form(name="Other")
    assert member.get(columns.replace(tenant.default_form_id, other)).status == 404
    foreign = make_tenant()
    form = Form.objects.get(pk=decode_id(Prefix.FORM, foreign.default_form_id))
    batch = Import.objects.create(organization=foreign.organization, form=form, source="a")
    for path in (f"forms/{tenant.default_form_id}", f"forms/{foreign.default_form_id}"):
        undo = place(tenant, f"{path}/imports/{batch.public_id}/undo")
        assert member.post(undo, form=page(tenant)).status == 404


def test_file__whose_import_cannot_go_on__says_why_and_stops(tenant: Tenant, member: Browser) -> None:
    columns = upload(member, page(tenant), "rows.csv", b"at,n\n2024-01-31,1\n").headers["Location"]
    member.send(columns, do="show", use__0="time", use__1="value", zone="UTC")
    Form.objects.filter(pk=decode_id(Prefix.FORM, tenant.default_form_id)).update(is_default=False, status="archived")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', member.get(columns).text)
    assert token
    headers = {**member.headers(), "HX-Request": "true", "X-CSRFToken": token[1]}
    part = member.api.post(f"{columns}/next", data="", headers=headers)
    assert "The form is archived." in text_of(part)
    assert "hx-post" not in part.text


def test_files__of_an_organization__are_its_newest_five(tenant: Tenant, member: Browser) -> None:
    for number in range(7):
        assert upload(member, page(tenant), f"{number}.csv", b"at,n\n2024-01-31,1\n").status == 302
    names = ImportFile.objects.filter(organization=tenant.organization).order_by("pk").values_list("name", flat=True)
    assert list(names) == [f"{number}.csv" for number in range(2, 7)]


def test_file__of_escapes_that_no_encoding_has__is_shown_imported_and_refused(tenant: Tenant, member: Browser) -> None:
    rows = r'[{"at": "2024-01-31", "a\u0000\ud800": "\ud800"}, {"at": "0001-01-01T00:00:00", "a": "\udfff"}]'
    columns = upload(member, page(tenant), "rows.json", rows.encode()).headers["Location"]
    choice = {"use__0": "time", "use__1": "none", "zone": "Asia/Tokyo", "date_format": "%d %d"}
    assert member.send(columns, do="show", **choice).status == 200
    assert member.get(columns).status == 200
    choice["use__1"] = "value"
    assert "2 of 2 rows" in text_of(member.follow(member.send(columns, do="import", **choice)))
    assert [data for _, data, _ in stored(tenant)] == [{"a\ufffd": "\ufffd"}]
    assert "This is no time: 0001-01-01T00:00:00" in member.get(f"{columns}/refused").text
