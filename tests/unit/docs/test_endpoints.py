"""The endpoints of docs/contract.md and docs/api.md, compared with the table that the permission tests run."""

import re
from collections.abc import Collection, Iterator

import pytest

from tests.checks.sources import ROOT
from tests.support.tables.permission_table import ADMIN, TABLE

WORDS = {"the administrative flag": ADMIN}
PERMISSIONS = {(endpoint.method, endpoint.path): endpoint.permission for endpoint in TABLE}


def endpoints(text: str) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of `GET /a`, of `GET` and `POST /a`, and of `GET /a/b`, `…/c` (`GET /a/c`)."""
    methods: list[str] = []
    waiting: list[str] = []
    path = ""
    for quoted in re.findall(r"`([^`]+)`", text):
        method, _, named = quoted.rpartition(" ")
        if quoted.isupper():
            waiting.append(quoted)
        elif method:
            methods, waiting, path = [*waiting, method], [], named
            yield from ((one, path) for one in methods)
        elif quoted.startswith("…/"):
            path = path.rpartition("/")[0] + named.removeprefix("…")
            yield from ((one, path) for one in methods)


def rules() -> dict[str, str]:
    """Return the permissions of docs/contract.md 3.12 by `GET /a`, `GET /a…` or `/a…`."""
    text = (ROOT / "docs" / "contract.md").read_text()
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text.partition("**3.12")[2].partition("\n## ")[0], re.MULTILINE)
    return {
        one: WORDS.get(needed, needed).strip("`") for cell, needed in rows for one in re.findall(r"`([^`]+)`", cell)
    }


def rule_for(method: str, path: str, rules: Collection[str]) -> str | None:
    """Return the most exact rule of an endpoint: of its path, of its method below a path, of everything below it."""
    whole = f"{method} {path}"
    starts = [one for one in rules if one.endswith("…") and is_below(path, one.rpartition(" ")[2].removesuffix("…"))]
    of_method = [one for one in starts if one.startswith(f"{method} ")]
    of_path = [one for one in starts if " " not in one]
    return whole if whole in rules else max(of_method or of_path, key=len, default=None)


def is_below(path: str, start: str) -> bool:
    return path == start or path.startswith(f"{start}/")


def test_permissions__of_every_endpoint__are_those_of_the_contract() -> None:
    known = rules()
    found = {(method, path): rule_for(method, path, known) for method, path in PERMISSIONS}
    assert {endpoint: known.get(rule or "") for endpoint, rule in found.items()} == PERMISSIONS
    assert {rule for rule, needed in known.items() if needed != "none"} - set(found.values()) == set()


@pytest.mark.parametrize(
    ("method", "path", "rule"),
    [
        ("GET", "/a", "GET /a…"),
        ("GET", "/a/{id}", "GET /a…"),
        ("POST", "/a/{id}/b", "/a…"),
        ("GET", "/a/c", "GET /a/c"),
        ("POST", "/a/c", "/a…"),
        ("GET", "/ab", None),
    ],
)
def test_rule__of_an_endpoint__is_the_most_exact_one(method: str, path: str, rule: str | None) -> None:
    assert rule_for(method, path, ["GET /a…", "/a…", "GET /a/c"]) == rule


def test_headings_of_api_md__name_every_endpoint_once() -> None:
    headings = re.findall(r"^### (.*)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    named = [one for heading in headings for one in endpoints(heading)]
    assert sorted(named) == sorted(PERMISSIONS)


def test_endpoints__of_a_text__are_found_in_every_way_that_they_are_written() -> None:
    text = "`GET /a`, `GET` and `POST /b/{id}`, `PATCH /c/{id}/d`, `…/e`; `/f` is open"
    assert list(endpoints(text)) == [
        ("GET", "/a"),
        ("GET", "/b/{id}"),
        ("POST", "/b/{id}"),
        ("PATCH", "/c/{id}/d"),
        ("PATCH", "/c/{id}/e"),
    ]
