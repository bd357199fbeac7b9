"""docs/moving.md, "One page of each service": each change is what `migrate` makes, posts here, and can be undone."""

import re
import secrets
import subprocess
from pathlib import Path

import pytest

from tests.browser.guides.snippets import blocks
from tests.services.application import Application
from tests.services.client import Client
from tests.support.fieldpost_command import command_of
from tests.support.hosted_posts import post
from tests.support.submitting import stored_data
from tests.support.tenants import make_tenant

GUIDE = {file: code for language, file, code in blocks("moving") if language == "diff" and file.endswith(".html")}
IDS_THERE = re.compile("xqkwjdnz|0123abcd")
EMAIL, MESSAGE = {"email": "ada@example.com"}, {"message": "Hello"}
POSTED: dict[str, tuple[dict[str, str], dict[str, str]]] = {  # what a visitor's browser sends besides, what is stored
    "formspree.html": ({"_subject": "From the shop"}, EMAIL | MESSAGE),
    "netlify.html": ({"form-name": "jobs"}, EMAIL | {"bot-field": ""}),
    "web3forms.html": ({"access_key": "0f1e2d3c"}, {"name": "Ada"} | EMAIL | MESSAGE),
    "basin.html": ({}, EMAIL | MESSAGE),
    "google.html": ({}, {"entry.1234567": "Ada", "emailAddress": "ada@example.com", "fvv": "1"}),
}


def change(folder: Path, diff: str, *options: str) -> None:
    subprocess.run(["git", "apply", *options, "-"], cwd=folder, input=diff, text=True, check=True)


def test_guide__has_a_page_of_each_service() -> None:
    assert set(GUIDE) == set(POSTED)


@pytest.mark.parametrize("name", sorted(POSTED))
def test_page__moved_as_the_guide_says__is_what_migrate_makes_and_posts_here(
    name: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant, page = make_tenant(), tmp_path / name
    diff = IDS_THERE.sub(secrets.token_hex(6), GUIDE[name])  # an address belongs to one form of the service
    old = "".join(f"{line[1:]}\n" for line in diff.splitlines()[3:] if line[0] in "- ")
    page.write_text(old)

    form = command_of(service, tenant.key, tmp_path).run("migrate", name, "--write").json()["form"]

    moved = page.read_text()
    page.write_text(old)
    change(tmp_path, diff)
    said = page.read_text().replace("https://forms.example.com", service.base_url)
    assert said.replace("frm_…", form["id"]) == moved
    change(tmp_path, diff, "--reverse")
    assert page.read_text() == old

    besides, values = POSTED[name]
    answer = post(api, form["url"].rpartition("/")[2], values | besides)
    assert answer.status in (200, 303), answer.text
    (stored,) = stored_data(api, tenant, form["id"])
    assert stored == values
