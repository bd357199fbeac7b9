"""Pages in an old charset, and bodies that are cut or broken: all is stored, or nothing is thanked for."""

from typing import Any

import pytest

from tests.services.client import Answer, Client
from tests.support.hosted_posts import URLENCODED
from tests.support.posted_files import PDF, file_field
from tests.support.submitting import records, stored_data, submit
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant, text_field

HEAD = b'--BB\r\nContent-Disposition: form-data; name="'
END = b"\r\n--BB--\r\n"
GERMAN = "größe José €"


def post_parts(api: Client, path: str, body: bytes, **headers: str) -> Answer:
    return api.post(path, data=body, headers={"Content-Type": "multipart/form-data; boundary=BB"} | headers)


def file_named(name: bytes) -> bytes:
    return HEAD + b'cv"; filename="' + name + b'"\r\nContent-Type: application/pdf\r\n\r\n' + PDF


def fields() -> list[dict[str, Any]]:
    return [text_field("größe", required=False), file_field()]


@pytest.mark.parametrize("path", first_on_both(["/f/{}", "/{}", "/ajax/{}", "/s/{}"]))
def test_page_in_windows_1252__that_posts_multipart__loses_no_field_and_no_file(api: Client, path: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=fields())
    name, value = "größe".encode("cp1252"), GERMAN.encode("cp1252")
    body = HEAD + name + b'"\r\n\r\n' + value + b"\r\n" + file_named(value + b".pdf") + END

    assert post_parts(api, path.format(form_id), body).status in (201, 303)

    [record] = records(api, tenant, form_id)
    assert record["data"] == {"größe": GERMAN, "cv": f"{GERMAN}.pdf"}
    assert [(file["field"], file["name"], file["size"]) for file in record["files"]] == [
        ("cv", f"{GERMAN}.pdf", len(PDF))
    ]


@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    first_on_both(
        [
            (b"a=Jos%E9+%80", "", "José €"),
            (b"a=%95%5C&_charset_=Shift_JIS", "", "表"),
            (b"a=Jos%E9", "; charset=iso-8859-1", "José"),
            (b"a=Jos\xc3\xa9", "", "José"),
        ]
    ),
)
def test_urlencoded_post__of_an_old_page__is_stored_as_its_text(
    api: Client, body: bytes, content_type: str, value: str
) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    headers = {"Content-Type": URLENCODED["Content-Type"] + content_type}

    assert api.post(f"/f/{form_id}", data=body, headers=headers).status == 303
    assert stored_data(api, tenant, form_id) == [{"a": value}]


def test_charset_field__in_json__is_no_data(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    assert submit(api, tenant.key, form_id, {"a": "é", "_charset_": "UTF-8"}).status == 201
    assert stored_data(api, tenant, form_id) == [{"a": "é"}]


@pytest.mark.parametrize(
    "body",
    first_on_both(
        [
            HEAD + b'a"\r\n\r\nhello',
            HEAD + b'a"\r\n\r\nhello\r\n--BB',
            HEAD.replace(b"BB", b"CC") + b'a"\r\n\r\nhello\r\n--CC--\r\n',
            (HEAD + b'a"\r\n\r\nhello' + END).replace(b"\r\n", b"\n"),
            b"--BB\r\nContent-Type: text/plain\r\n\r\nhello" + END,
        ]
    ),
)
def test_body__that_is_cut_or_broken__is_malformed_and_nothing_is_stored(api: Client, body: bytes) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = post_parts(api, f"/f/{form_id}", body, Accept="application/json")

    assert (answer.status, answer.json()["errors"][0]["code"]) == (400, "malformed")
    assert records(api, tenant, form_id) == []


def test_value__that_holds_the_boundary__and_a_media_type_in_capitals__are_taken(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    headers = {"Content-Type": "Multipart/Form-Data; boundary=BB"}

    answer = api.post(f"/f/{form_id}", data=HEAD + b'a%22b"\r\n\r\nx--BBy\r\nz' + END, headers=headers)

    assert (answer.status, stored_data(api, tenant, form_id)) == (303, [{'a"b': "x--BBy\r\nz"}])


@pytest.mark.parametrize("name", first_on_both([b"..", b"", b"\x01\x02", b"/"]))
def test_file__of_whose_name_nothing_is_left__is_stored_under_its_type(api: Client, name: bytes) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[file_field(required=True, accept=[".pdf"])])

    assert post_parts(api, f"/f/{form_id}", file_named(name) + END).status == 303

    [record] = records(api, tenant, form_id)
    assert (record["data"], [file["name"] for file in record["files"]]) == ({"cv": "file.pdf"}, ["file.pdf"])


def test_file_of_an_old_page__to_a_form_without_file_fields__is_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = post_parts(api, f"/f/{form_id}", file_named(b"gr\xf6\xdfe.pdf") + END, Accept="application/json")

    assert (answer.status, answer.json()["errors"][0]["code"]) == (400, "NO_FILE_UPLOADS")
    assert records(api, tenant, form_id) == []
