"""JSON for scripts, pages for people, by what the request says (docs/contract.md 6.12)."""

import pytest

from tests.services.client import Client
from tests.support.hosted_posts import URLENCODED, accepted_json
from tests.support.submitting import stored_data
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant

FETCH = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Accept": "*/*"}
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
CASES: dict[str, tuple[dict[str, str], bool]] = {
    "browser": ({"Sec-Fetch-Dest": "document", **HTML}, False),
    "Accept": ({"Accept": "application/json"}, True),
    "frame": ({"Sec-Fetch-Dest": "iframe", **HTML}, False),
    "curl": ({"Accept": "*/*"}, False),
    "axios": ({"Accept": "application/json, text/plain, */*"}, True),
    "fetch": (FETCH, True),
    "jQuery": ({"X-Requested-With": "XMLHttpRequest", "Accept": "*/*"}, True),
    "htmx": ({**FETCH, "HX-Request": "true"}, False),
    "Turbo": ({**FETCH, "Accept": "text/vnd.turbo-stream.html, text/html, application/xhtml+xml"}, False),
}


@pytest.mark.parametrize("case", first_on_both(CASES, 2))
def test_client__by_its_headers__gets_json_or_a_redirect(api: Client, case: str) -> None:
    headers, is_json = CASES[case]
    form_id = make_tenant().form()

    stored = api.post(f"/f/{form_id}", data="a=1", headers=URLENCODED | headers)
    refused = api.post(f"/f/{form_id}", data="_subject=only", headers=URLENCODED | headers)

    assert (stored.status, refused.status) == (201 if is_json else 303, 400)
    kind = "application/json" if is_json else "text/html; charset=utf-8"
    assert [answer.headers["Content-Type"] for answer in (stored, refused)] == [kind] * 2
    assert "Location" not in stored.headers or not is_json


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/json"])
def test_beacon__of_json__is_stored_and_answered_in_json(api: Client, kind: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    answer = api.post(f"/f/{form_id}", data=' {"a": "1", "n": 1.50}', headers={"Content-Type": kind})

    thanks = f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"
    assert (answer.status, answer.json()) == (201, accepted_json(form_id, thanks))
    assert stored_data(api, tenant, form_id) == [{"a": "1", "n": "1.50"}]


def test_text__that_is_no_json__is_refused_on_a_page(api: Client) -> None:
    form_id = make_tenant().form()

    text = api.post(f"/f/{form_id}", data="a=1", headers={"Content-Type": "text/plain"})
    broken = api.post(f"/f/{form_id}", data='{"a": ', headers={"Content-Type": "text/plain"})

    assert (text.status, text.headers["Content-Type"]) == (415, "text/html; charset=utf-8")
    assert (broken.status, broken.json()["error"]) == (400, "invalid_json")
    assert broken.json()["message"] == "This could not be read. Reload the page, then send it again."


@pytest.mark.parametrize("path", ["/f/{form}/", "/f/{form}/x", "/f/", "/f/x/y/z"])
@pytest.mark.on_sqlite
def test_paths_below_f__without_a_form__are_a_page_to_a_browser(api: Client, path: str) -> None:
    path = path.replace("{form}", make_tenant().form())
    if path.count("/") == 3 and path.endswith("/"):  # the form's own address with a slash
        page, stored = api.get(path, headers=HTML), api.post(path, data="a=1", headers=URLENCODED | HTML)
        assert (page.status, "<form" in page.text, stored.status) == (200, True, 303)
        return

    page, program = api.get(path, headers=HTML), api.get(path, headers={"Accept": "application/json"})

    assert (page.status, "This form is not open" in page.text) == (404, True)
    assert (program.status, program.json()["error"]) == (404, "not_found")


@pytest.mark.on_sqlite
def test_unknown_path__is_a_page_to_a_browser_and_the_envelope_to_programs(api: Client) -> None:
    page = api.get("/nothing/here", headers=HTML)

    assert (page.status, "There is nothing at this address" in page.text) == (404, True)
    assert api.get("/nothing/here").json()["error"] == "not_found"
    assert api.get("/api/nothing", headers=HTML).json()["error"] == "not_found"
