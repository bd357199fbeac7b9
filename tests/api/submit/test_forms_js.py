"""`/forms.js`, its solver and their pinned addresses (docs/contract.md 6.1)."""

import base64
import gzip
import hashlib
import json
from typing import Any

import pytest

from forms_app.script.builds import BUILDS, TOOLS, build_all
from tests.services.client import Client
from tests.services.processes import ROOT

pytestmark = pytest.mark.on_sqlite  # about a file, not rows

NAMES = ["forms.js", "forms.more.js", "forms.files.js", "forms.proof.js", "forms.debug.js"]
MAX_GZIPPED = 3 * 1024  # bytes


def current() -> dict[str, dict[str, str]]:
    known: dict[str, dict[str, str]] = json.loads((BUILDS / "current.json").read_text())
    return known


@pytest.mark.parametrize("name", NAMES)
def test_stable_address__is_kept_for_minutes__and_asked_for_again_with_its_etag(api: Client, name: str) -> None:
    answer = api.get(f"/{name}")

    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert answer.headers["Cache-Control"] == "public, max-age=300, stale-while-revalidate=86400"
    assert answer.headers["Access-Control-Allow-Origin"] == "*", "also without an Origin"
    etag = answer.headers["ETag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = api.get(f"/{name}", headers={"If-None-Match": known})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag)
    assert api.get(f"/{name}", headers={"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize("name", NAMES)
def test_pinned_address__is_the_same_script_for_ever__and_its_hash_is_right(api: Client, name: str) -> None:
    build = current()[name]

    answer = api.get(f"/{build['file']}")

    assert (answer.status, answer.body) == (200, api.get(f"/{name}").body)
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert build["integrity"] == f"sha384-{base64.b64encode(hashlib.sha384(answer.body).digest()).decode()}"
    assert hashlib.sha256(answer.body).hexdigest().startswith(build["file"].split(".")[-2])


@pytest.mark.parametrize("accepted", ["gzip", "br, gzip;q=0.5, deflate", "*", "*;q=0, gzip", "gzip, *;q=0"])
def test_script__to_a_browser_that_takes_gzip__travels_small(api: Client, accepted: str) -> None:
    """Behind a proxy that does not compress, too."""
    plain, packed = api.get("/forms.js"), api.get("/forms.js", headers={"Accept-Encoding": accepted})
    assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(packed.headers["Content-Length"]) <= MAX_GZIPPED
    assert packed.body == plain.body  # the client has unpacked it
    assert packed.headers["ETag"] == f"W/{plain.headers['ETag']}"


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "gzip; q=0.0, br", "*, gzip;q=0"])
def test_script__to_others__is_not_compressed(api: Client, accepted: str) -> None:
    answer = api.get("/forms.js", headers={"Accept-Encoding": accepted})
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/forms.000000000000.js", "/forms.min.js", "/forms.js.map", "/forms.current.js"])
def test_script_that_never_was__is_not_found(api: Client, path: str) -> None:
    assert api.get(path).status == 404


def test_script__is_small_enough(api: Client) -> None:
    assert len(gzip.compress(api.get("/forms.js").body, 9)) <= MAX_GZIPPED


def test_script__has_neither_eval_nor_cookie_nor_inline_style(api: Client) -> None:
    for name in NAMES:
        text = api.get(f"/{name}").text
        assert not [word for word in ("eval(", "Function(", "cookie", ".style", "innerHTML") if word in text]


def test_script__posted_to__is_refused(api: Client) -> None:
    assert api.post("/forms.js", json={}).status == 405


def test_committed_builds__are_what_the_sources_make() -> None:
    fresh: dict[str, Any] = build_all(tools=ROOT / TOOLS)

    for name, content in fresh.items():
        assert (BUILDS / name).read_bytes() == content, f"{name}: run `make forms.js` and commit what it writes"
