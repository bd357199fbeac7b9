"""Static files: hashed names, gzip and a year of cache, without a command that prepares them."""

import gzip
import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.processes import ROOT

pytestmark = pytest.mark.on_sqlite

BROWSER = {"Accept-Encoding": "gzip, br"}
YEAR = "max-age=315360000, public, immutable"
MINUTE = "max-age=60, public"
TOKENS = (ROOT / "dashboard/static/built/dashboard.css").read_bytes()


@pytest.fixture
def database(service: Application) -> str:
    return f"sqlite:///{service.environment['DATA_DIR']}/fieldpost.sqlite3"


def linked(client: Client, name: str) -> str:
    """Return the address under which a page loads a file."""
    stem, _, ending = name.rpartition(".")
    found = re.search(rf"/static/{stem}\.[0-9a-f]{{12}}\.{ending}", client.get("/account/login/").text)
    assert found, name
    return found[0]


def load(client: Client, path: str, **headers: str) -> Answer:
    return client.get(path, headers={**BROWSER, **headers})


def test_page__loads_files__that_browsers_keep_and_that_travel_small(api: Client) -> None:
    for name in ("built/dashboard.css", "dashboard/dashboard.js"):
        path = linked(api, name)
        answer = load(api, path)
        assert (answer.status, answer.headers["Cache-Control"]) == (200, YEAR)
        assert (answer.headers["Content-Encoding"], answer.headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert int(answer.headers["Content-Length"]) < len(answer.body) / 2
        assert hashlib.sha256(answer.body).hexdigest().startswith(path.split(".")[-2])
        assert answer.body == api.get(path).body == api.get(f"/static/{name}").body
        etag = answer.headers["ETag"]
        assert load(api, path, **{"If-None-Match": etag}).status == 304


def test_copies__of_an_earlier_process__are_served_as_they_are(
    start_service: Callable[..., Application], database: str, tmp_path: Path
) -> None:
    settings = {"DATA_DIR": str(tmp_path), "DATABASE_URL": database}
    with Client(start_service(**settings).port) as client:
        path = linked(client, "built/dashboard.css")
        assert load(client, path).status == 200
    copy = tmp_path / path.removeprefix("/")
    assert (copy.read_bytes(), gzip.decompress(copy.with_name(f"{copy.name}.gz").read_bytes())) == (TOKENS, TOKENS)
    older = copy.with_name("dashboard.0123456789ab.css")
    older.write_text("/* of the last release */")
    with Client(start_service(**settings).port) as client:
        assert load(client, path).headers["Cache-Control"] == YEAR
        answer = load(client, "/static/built/dashboard.0123456789ab.css")
        assert (answer.text, answer.headers["Cache-Control"]) == ("/* of the last release */", YEAR)


def test_copies__deleted_while_the_service_runs__are_made_again(
    start_service: Callable[..., Application], database: str, tmp_path: Path
) -> None:
    with Client(start_service(DATA_DIR=str(tmp_path), DATABASE_URL=database).port) as client:
        path = linked(client, "built/dashboard.css")
        assert load(client, path).body == TOKENS
        shutil.rmtree(tmp_path / "static")
        answer = load(client, path)
        assert (answer.status, answer.body, answer.headers["Content-Encoding"]) == (200, TOKENS, "gzip")


def test_copies__that_cannot_be_written__cost_the_caching_and_nothing_else(
    start_service: Callable[..., Application], database: str, tmp_path: Path
) -> None:
    (tmp_path / "static").write_text("a file where the folder should be")
    with Client(start_service(DATA_DIR=str(tmp_path), DATABASE_URL=database).port) as client:
        answer = load(client, linked(client, "built/dashboard.css"))
        assert (answer.status, answer.body, answer.headers["Cache-Control"]) == (200, TOKENS, MINUTE)


def test_hash_of_another_release__gets_the_file_of_this_one_for_a_minute(api: Client) -> None:
    """While an upgrade goes from host to host, a page of the new release may ask an old host."""
    answer = load(api, "/static/built/dashboard.000000000000.css")
    assert (answer.status, answer.body, answer.headers["Cache-Control"]) == (200, TOKENS, MINUTE)


@pytest.mark.parametrize(
    "path",
    [
        "/static/brand/none.000000000000.css",
        "/static/built/dashboard.00000000000.css",
        "/static/../built/dashboard.000000000000.css",
        "/static/brand/..%2F..%2F..%2Fmanage.000000000000.py",
        "/static/%2Fetc%2Fpasswd.000000000000.x",
        "/static/brand/%00.000000000000.css",
    ],
)
def test_file_that_does_not_exist__is_404_and_leaves_no_copy(api: Client, service: Application, path: str) -> None:
    assert api.get(path).status == 404
    folder = Path(service.environment["DATA_DIR"]) / "static"
    assert not [file for file in folder.rglob("*") if "000000000000" in file.name]
