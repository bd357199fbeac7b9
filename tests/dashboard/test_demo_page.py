"""`/demo/`: only on a development machine (docs/contract.md 8), with two forms, the tag and new submissions."""

import re
from collections.abc import Callable

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.support.tables.databases import first_on_both


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/demo/", "/demo/latest"])
def test_demo_page__without_demo_or_debug__is_not_there(api: Client, path: str) -> None:
    assert api.get(path).status == 404


@pytest.mark.parametrize("setting", first_on_both(["DEMO", "DEBUG"]))
def test_demo_page__has_two_forms_the_tag_and_what_arrives(
    start_service: Callable[..., Application], setting: str
) -> None:
    with Client(start_service(**{setting: "1"}).port) as api:
        page = api.get("/demo/")

        tag = re.search(r'<script src="/forms.js" data-key="(fp_pub_\w+)" data-form-id="(frm_\w+)">', page.text)
        assert tag, page.text
        assert page.text.count("<form") == 2
        assert not re.search(r"fp_(?!pub_)\w{20}", page.text), "no secret key"
        assert page.headers["Content-Security-Policy"].startswith("default-src 'self';")
        values = {"name": "Ada", "email": "ada@example.com", "message": "<i>Hello</i>"}
        assert api.post(f"/api/submit?formId={tag[2]}", tag[1], json=values).status == 201
        latest = api.get("/demo/latest").text
    assert "&lt;i&gt;Hello&lt;/i&gt;" in latest
    assert "ada@example.com" in latest
