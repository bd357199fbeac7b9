"""The settings of a form besides its fields: origins, redirect, message, retention (docs/contract.md 4)."""

from typing import Any

import pytest

from tests.services.client import Answer, Client
from tests.support.replies import invalid
from tests.support.tables.databases import first_on_both
from tests.support.tenants import make_tenant


def create(api: Client, **values: Any) -> Answer:
    return api.post("/api/forms", make_tenant().key, json={"name": "Contact", **values})


@pytest.mark.parametrize(
    ("given", "expected"),
    first_on_both(
        [
            (["https://example.com"], ["https://example.com"]),
            (["HTTPS://Example.COM"], ["https://example.com"]),
            (["https://example.com:443", "http://example.com:80"], ["https://example.com", "http://example.com"]),
            (["https://example.com:8443"], ["https://example.com:8443"]),
            (["http://localhost:3000"], ["http://localhost:3000"]),
            (["https://*.Example.com"], ["https://*.example.com"]),
            (["http://[::1]:8080"], ["http://[::1]:8080"]),
            ([" https://example.com "], ["https://example.com"]),
            (
                ["https://b.example", "https://a.example", "https://b.example:443"],
                ["https://b.example", "https://a.example"],
            ),
            ([], []),
        ]
    ),
)
def test_allowed_origins__in_any_spelling__are_stored_as_browsers_send_them(
    api: Client, given: list[str], expected: list[str]
) -> None:
    answer = create(api, allowedOrigins=given)

    assert (answer.status, answer.json()["data"]["allowedOrigins"]) == (201, expected)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "given",
    [
        *("example.com", "https://example.com/", "https://example.com/contact", "https://example.com?x=1", "*", "null"),
        *("ftp://example.com", "https://", "https://*", "https://a.*.example.com", "https://user@example.com"),
        *("https://example.com:99999", "https://example.com:port", "https://exa mple.com", "https://*example.com"),
    ],
)
def test_allowed_origins__that_are_no_origin__are_refused(api: Client, given: str) -> None:
    answer = create(api, allowedOrigins=["https://good.example", given])

    message = f'allowedOrigins: "{given}" is not an origin. Write it like https://example.com, without a path.'
    assert (answer.status, answer.json()) == (400, invalid(("allowedOrigins", "invalid_origin", message)))


@pytest.mark.on_sqlite
@pytest.mark.parametrize("given", ["https://example.com", None, {}, 5, [5], [None], [["https://example.com"]]])
def test_allowed_origins__that_are_no_list_of_strings__are_refused(api: Client, given: Any) -> None:
    answer = create(api, allowedOrigins=given)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert answer.json()["details"][0]["field"].split(".")[0] == "allowedOrigins"


@pytest.mark.parametrize("given", ["https://example.com/thanks?a=b#c", "http://localhost:3000/", ""])
def test_redirect_url__of_the_web__is_kept(api: Client, given: str) -> None:
    answer = create(api, redirectUrl=given)

    assert (answer.status, answer.json()["data"]["redirectUrl"]) == (201, given)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "given",
    [
        "/thanks",
        "example.com",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://example.com/",
        "//evil.example",
        "https://",
    ],
)
def test_redirect_url__of_another_kind__is_refused(api: Client, given: str) -> None:
    answer = create(api, redirectUrl=given)

    message = "redirectUrl: Must be a URL that begins with http:// or https://."
    assert (answer.status, answer.json()) == (400, invalid(("redirectUrl", "invalid_url", message)))


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("redirectUrl", 5, "invalid"),
        ("redirectUrl", f"https://example.com/{'a' * 2029}", "max_length"),
        ("successMessage", 5, "invalid"),
        ("successMessage", ["Thanks"], "invalid"),
        ("successMessage", "m" * 1001, "max_length"),
        ("retentionDays", 0, "min_value"),
        ("retentionDays", -1, "min_value"),
        ("retentionDays", 3651, "max_value"),
        ("retentionDays", 10**20, "max_value"),
        ("retentionDays", "30", "invalid"),
        ("retentionDays", 30.0, "invalid"),
        ("retentionDays", True, "invalid"),
        ("retentionDays", [30], "invalid"),
    ],
)
def test_setting__of_another_type_or_size__is_refused(api: Client, name: str, given: Any, code: str) -> None:
    answer = create(api, **{name: given})

    assert answer.status == 400
    body = answer.json()
    assert body == invalid((name, code, body["message"]))
    assert body["message"].startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        ("redirectUrl", None, ""),
        ("redirectUrl", f"https://example.com/{'a' * 2028}", f"https://example.com/{'a' * 2028}"),
        ("successMessage", None, ""),
        ("successMessage", "m" * 1000, "m" * 1000),
        ("successMessage", "Danke \u2014 a\0b", "Danke \u2014 ab"),
        ("retentionDays", None, None),
        ("retentionDays", 1, 1),
        ("retentionDays", 3650, 3650),
    ],
)
def test_setting__at_its_bounds_or_null__is_taken(api: Client, name: str, given: Any, shown: Any) -> None:
    answer = create(api, **{name: given})

    assert (answer.status, answer.json()["data"][name]) == (201, shown)
