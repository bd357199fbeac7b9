"""docs/start.md and docs/pages.md: their blocks in Chromium. `make run` is run by the tests of `serve`."""

import json
import os
import re
import subprocess
from pathlib import Path

from playwright.sync_api import FilePayload, expect

from config.write_env import write_environment
from tests.browser.guides.snippets import VALUES, blocks, filled_in, with_form
from tests.checks.sources import ROOT
from tests.services.environment import for_tests
from tests.services.receivers import MailReceiver
from tests.support.chromium.visitor import Visitor
from tests.support.tenants import text_field

PACKAGES, RUN, CURL, *HTML, MAIL, BACKUP = [code for _, _, code in blocks("start")]


def test_blocks__of_the_page__are_those_of_the_tests() -> None:
    assert [language for language, _, _ in blocks("start")] == ["sh", "sh", "sh", "html", "html", "sh", "sh"]
    assert re.fullmatch(r"apt-get update\napt-get install --yes [a-z0-9 -]+\n", PACKAGES)
    assert RUN == "make run\n"


def test_mail_and_backup__of_a_laptop__work_as_the_page_says(smtp: MailReceiver, tmp_path: Path) -> None:
    for name in (".venv", "manage.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    data = tmp_path / "data"
    write_environment(data)
    with (data / "env").open("a") as file:
        file.write(f"EMAIL_URL={smtp.url}\n")
    environment = {**for_tests(os.environ), "DATA_DIR": str(data)}
    for block in (".venv/bin/python manage.py migrate --verbosity 0", MAIL, BACKUP):
        done = subprocess.run(
            ["bash", "-euc", block], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
    assert smtp.wait_for("you@example.com")
    assert (data / "backup.sqlite3").stat().st_size > 0


def test_curl__with_the_key_of_the_demo__stores_a_submission(plain_visitor: Visitor, tmp_path: Path) -> None:
    tenant = plain_visitor.tenant
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "demo-key").write_text(f"{tenant.key}\n")
    script = filled_in(CURL, plain_visitor)
    done = subprocess.run(["sh", "-euc", script], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert '"id": "sub_' in done.stdout, done.stdout + done.stderr
    listed = plain_visitor.api.get("/api/submissions", tenant.key).json()["data"]
    assert [one["data"] for one in listed] == [VALUES]


def test_plain_form__and_then_the_script_tag__send(plain_visitor: Visitor) -> None:
    visitor = with_form(plain_visitor)
    form, tag = (filled_in(code, visitor) for code in HTML)
    visitor.open(form, tag="")
    visitor.send(**VALUES)
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    visitor.open(form, tag=tag)
    visitor.send(**VALUES)
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [VALUES, VALUES]


def test_pages_md__tag_listener_and_plain_form__work_together(plain_visitor: Visitor) -> None:
    [tag, listener, form, _, answers] = [code for _, _, code in blocks("pages")]
    visitor = plain_visitor
    visitor.open(filled_in(form, visitor), tag=f"{filled_in(tag, visitor)}<script>{listener}</script>")
    visitor.send(email="ada@example.com", message="Hello")
    expect(visitor.thanks).to_be_visible()
    assert visitor.stored() == [{"email": "ada@example.com", "message": "Hello", "language": "en"}]
    assert [json.loads(line)["success"] for line in answers.splitlines()] == [True, False]


def test_pages_md__plain_form_with_files__sends_them(plain_visitor: Visitor) -> None:
    visitor, [_, _, _, form, _] = plain_visitor, [code for _, _, code in blocks("pages")]
    inputs = [
        text_field("email", type="Email", required=True),
        text_field("cv", type="File", required=True),
        text_field("photos", type="File", required=False, maxFiles=2),
    ]
    visitor.form_id = visitor.tenant.form(fields=inputs)
    visitor.open(filled_in(form, visitor), tag="")
    cv: FilePayload = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\n"}
    visitor.page.get_by_label("CV").set_input_files(cv)
    visitor.send(email="ada@example.com")
    expect(visitor.page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert visitor.stored() == [{"email": "ada@example.com", "cv": "cv.pdf"}]
