"""Paths without a key: the OpenAPI schema, its page, the health checks (docs/contract.md 3.12)."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.validation import validate_schema

from tests.services.application import Application
from tests.services.client import Client

pytestmark = pytest.mark.on_sqlite  # about documents, not rows

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
def schema(api: Client) -> dict[str, Any]:
    answer = api.get("/api/schema")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/vnd.oai.openapi+json")
    served: dict[str, Any] = answer.json()
    return served


def operations(schema: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, item in schema["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }


def routed() -> set[tuple[str, str]]:
    """Return every method and path under /api/ that `config.urls` routes, but the schema, its page and the 404."""
    found = set()
    for path, pattern in _patterns(get_resolver().url_patterns, "/"):
        view: Any = pattern.callback
        if not path.startswith("/api/") or pattern.name in ("schema", "docs", None):
            continue
        actions = getattr(view, "actions", None)
        names = actions or [name for name in METHODS if hasattr(view.view_class, name)]
        found |= {(name.upper(), path) for name in names if name != "head"}
    return found


def _patterns(patterns: list[Any], prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        path = prefix + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, path)
        else:
            yield path, pattern


def test_schema__served__is_valid_openapi_3_1(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.1.")
    validate_schema(schema)


def test_schema__every_routed_endpoint__is_in_it_and_nothing_else(schema: dict[str, Any]) -> None:
    assert len(routed()) > 25
    assert set(operations(schema)) == routed()


def test_schema__every_operation__asks_for_the_access_key(schema: dict[str, Any]) -> None:
    scheme = schema["components"]["securitySchemes"]["accessKey"]
    assert (scheme["type"], scheme["in"], scheme["name"]) == ("apiKey", "header", "x-access-key")
    wrong = [name for name, one in operations(schema).items() if one.get("security") != [{"accessKey": []}]]
    assert not wrong


def test_schema__every_operation__tells_its_errors_as_the_envelope(schema: dict[str, Any]) -> None:
    shared = schema["components"]["responses"]
    for name, operation in operations(schema).items():
        assert {"400", "401", "403", "429", "500", "503"} <= operation["responses"].keys(), name
        for status, response in operation["responses"].items():
            told = shared[response["$ref"].rpartition("/")[2]] if status >= "400" else response
            assert {"X-RateLimit-Limit", "X-Request-Id"} <= told["headers"].keys(), (name, status)
            if status >= "400":
                assert told["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


class Links(HTMLParser):
    """Collects every src and href."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href") and value]


def test_docs__page_and_what_it_loads__come_from_our_host_alone(api: Client, service: Application) -> None:
    page = api.get("/api/docs")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    links = Links(page.text).found
    ours = urlsplit(service.base_url).netloc
    assert "/dashboard/" in links  # the way back, which redirects to the login
    for link in set(links) - {"/dashboard/"}:
        address = urlsplit(urljoin(f"{service.base_url}/api/docs", link))
        assert address.netloc == ours
        loaded = api.get(address.path + (f"?{address.query}" if address.query else ""))
        assert (loaded.status, len(loaded.body) > 100) == (200, True), link


def test_docs__without_scripts__list_every_operation_with_its_summary(api: Client) -> None:
    page, document = api.get("/api/docs").text, api.get("/api/schema").json()
    listed = set(re.findall(r"<strong>(\w+)</strong>\s*<code>([^<]+)</code>\s*<span[^>]*>([^<]+)</span>", page))
    assert listed == {
        (method.upper(), path, operation["summary"])
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    assert 'data-schema="/api/schema"' in page


def test_schema__texts_with_a_pattern__have_an_example_that_fits(api: Client) -> None:
    """Viewers make up unreadable ones otherwise."""
    form = api.get("/api/schema").json()["components"]["schemas"]["NewForm"]["properties"]
    assert (form["name"]["examples"], form["allowedOrigins"]["items"]["examples"]) == (
        ["contact"],
        ["https://example.com"],
    )


@pytest.mark.parametrize(("path", "body"), [("/healthz", {"status": "ok"}), ("/readyz", {"status": "ready"})])
def test_health__running__is_200_with_its_body(api: Client, path: str, body: dict[str, str]) -> None:
    answer = api.get(path)
    found = {name: value for name, value in answer.json().items() if name != "problems"}
    assert (answer.status, answer.headers["Content-Type"], found) == (200, "application/json", body)


PATHS = ["/api/forms", "/api/schema", "/api/docs", "/api/nothing", "/healthz", "/readyz", "/dashboard/", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
def test_request_id__api_and_pages__is_ours_or_the_callers(api: Client, path: str) -> None:
    made = [api.get(path).headers["X-Request-Id"] for _ in range(2)]
    assert made[0] != made[1]
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in made)
    assert api.get(path, headers={"X-Request-Id": "caller-1.b_c"}).headers["X-Request-Id"] == "caller-1.b_c"
    assert api.get(path, headers={"X-Request-Id": "no spaces"}).headers["X-Request-Id"] not in ("no spaces", *made)
