"""`GET /api/schema` as JSON and YAML, from other origins too, and no `Accept` that any path of the API fails at."""

import pytest
import yaml

from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite  # no rows

JSON, YAML = "application/vnd.oai.openapi+json", "application/yaml"
# `Accept` and query -> Content-Type.
CHOICES = [
    (None, "", JSON),
    ("*/*", "", JSON),
    ("text/html,application/xhtml+xml,*/*;q=0.8", "", JSON),
    ("application/xml", "", JSON),
    ("application/json", "", "application/json"),
    ("application/yaml", "", YAML),
    ("text/yaml", "", "text/yaml"),
    ("application/vnd.oai.openapi", "", "application/vnd.oai.openapi"),
    ("application/json;q=0.5, application/yaml", "", YAML),
    ("application/json", "?format=yaml", YAML),
    ("application/yaml", "?format=json", JSON),
]
ODD = ["", ";", "a", "/", "*/*;q=x", "application/json;q=nan", "image/png;q=0", "text/html", "x/y;" * 500, "\xff/\xfe"]
EVERYWHERE = {"/api/schema": 200, "/api/docs": 200, "/api/forms": 401, "/api/submissions/export": 401, "/api/none": 404}


@pytest.mark.parametrize(("accept", "query", "expected"), CHOICES)
def test_schema__accept_and_format__choose_json_or_yaml(
    api: Client, accept: str | None, query: str, expected: str
) -> None:
    answer = api.get(f"/api/schema{query}", headers={} if accept is None else {"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"], answer.headers["Vary"]) == (
        200,
        expected,
        "Accept, Accept-Encoding",
    )
    read = answer.json() if "json" in expected else yaml.safe_load(answer.text)
    assert read == api.get("/api/schema").json()


@pytest.mark.parametrize("accept", ODD)
def test_accept__of_any_kind__fails_nowhere(api: Client, accept: str) -> None:
    headers = {"Accept": accept}
    assert {path: api.get(path, headers=headers).status for path in EVERYWHERE} == EVERYWHERE
    assert api.request("POST", "/api/submit", headers=headers).status == 401


@pytest.mark.parametrize("path", ["/api/schema?format=xml", "/api/schema?lang=en"])
def test_schema__unknown_parameter__is_a_validation_error(api: Client, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
def test_documents__other_method__is_405_in_the_envelope(api: Client, path: str) -> None:
    for method in ("POST", "DELETE", "OPTIONS"):
        answer = api.request(method, path, headers={"Accept": "text/html"})
        assert (answer.status, answer.json()["error"]) == (405, "method_not_allowed")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Allow"] == "GET, HEAD"
        assert answer.headers.get("Access-Control-Allow-Origin") == ("*" if path == "/api/schema" else None)


def test_schema__from_another_origin__may_be_read(api: Client) -> None:
    asked = {"Origin": "https://viewer.example", "Access-Control-Request-Method": "GET"}
    preflight = api.request("OPTIONS", "/api/schema", headers={**asked, "Access-Control-Request-Headers": "x-one"})
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Origin"] == "*"
    assert "GET" in preflight.headers["Access-Control-Allow-Methods"]
    assert preflight.headers["Access-Control-Allow-Headers"] == "x-one"
    answer = api.get("/api/schema", headers={"Origin": "https://viewer.example"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
