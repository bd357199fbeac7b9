"""The endpoints of docs/contract.md and docs/api.md, compared with the table that the permission tests run."""

import re
from collections.abc import Iterator

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


def test_permissions__of_every_endpoint__are_those_of_the_table() -> None:
    text = (ROOT / "docs" / "contract.md").read_text()
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text.partition("**3.12")[2].partition("\n## ")[0], re.MULTILINE)
    documented = {one: WORDS.get(needed, needed).strip("`") for cell, needed in rows for one in endpoints(cell)}
    assert documented == PERMISSIONS


def test_headings_of_api_md__name_endpoints_that_exist_once_each() -> None:
    headings = re.findall(r"^### (.*)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    named = [one for heading in headings for one in endpoints(heading)]
    assert len(named) > 25
    assert set(named) <= set(PERMISSIONS)
    assert len(set(named)) == len(named)


def test_endpoints__of_a_text__are_found_in_every_way_that_they_are_written() -> None:
    text = "`GET /a`, `GET` and `POST /b/{id}`, `PATCH /c/{id}/d`, `…/e`; `/f` is open"
    assert list(endpoints(text)) == [
        ("GET", "/a"),
        ("GET", "/b/{id}"),
        ("POST", "/b/{id}"),
        ("PATCH", "/c/{id}/d"),
        ("PATCH", "/c/{id}/e"),
    ]
