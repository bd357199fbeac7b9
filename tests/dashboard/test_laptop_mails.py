"""The mails of a laptop: only with DEMO and without a mail server, since they hold codes."""

import io
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from dashboard.pages.laptop_mails.mailbox import KEPT, KeptMails
from tests.services.application import Application
from tests.services.client import Client
from tests.support.accounts import sign_up
from tests.support.browser import Browser, text_of

pytestmark = pytest.mark.on_sqlite

MAILS = "/dashboard/mails"
LAPTOP = {"DEMO": "1", "EMAIL_URL": "consolemail://"}


def send(subject: str, text: str) -> None:
    """Send a mail as the service's deliverer does."""
    mail = EmailMultiAlternatives(subject, text, to=["ada@example.com"])
    mail.attach_alternative("<p>For mail programs</p>", "text/html")
    assert KeptMails(stream=io.StringIO()).send_messages([mail]) == 1


@pytest.mark.parametrize("environment", [{}, {"DEMO": "1"}, {"EMAIL_URL": "consolemail://", "DEBUG": "1"}])
def test_mails__without_demo_or_with_a_mail_server__are_not_there(
    shared_service: Callable[..., Application], environment: dict[str, str]
) -> None:
    with Client(shared_service(**environment).port) as api:
        assert api.get(MAILS).status == 404


def test_mails__of_a_laptop__are_read_without_a_login_newest_first(
    service: Application, start_service: Callable[..., Application], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    for number in range(KEPT + 2):
        send(f"Code {number}", "Enter ABC-DEF, <b>soon</b>: https://example.com/?a=1&b=2")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "mails").iterdir()}
    assert (len(list((tmp_path / "mails").iterdir())), modes) == (KEPT, {0o600})
    database = f"sqlite:///{service.environment['DATA_DIR']}/fieldpost.sqlite3"
    with Client(start_service(**LAPTOP, DATA_DIR=str(tmp_path), DATABASE_URL=database).port) as api:
        page = api.get(MAILS)
        seen = text_of(page)
        assert seen.index(f"Code {KEPT + 1} to ada@example.com") < seen.index("Code 2 to ada@example.com")
        assert "Code 1 to" not in seen
        assert "&lt;b&gt;soon" in page.text
        assert 'href="https://example.com/?a=1&amp;b=2"' in page.text
        assert "For mail programs" not in seen
        browser = Browser(api)
        asked = browser.follow(sign_up(browser, f"{secrets.token_hex(6)}@example.com"))
        assert f'href="{MAILS}"' in asked.text
