"""`fieldpost login` and `logout`, with a person who confirms in the browser."""

import json
import platform
import re
import stat
from pathlib import Path

import pytest

from keys.models import AccessKey, DeviceLogin
from tests.services.application import Application
from tests.services.client import Client
from tests.support.browser import Browser, logged_in, person_of
from tests.support.fieldpost_command import Command, next_line
from tests.support.tenants import make_tenant

PAGE = "/account/device"


def decide(browser: Browser, code: str, do: str) -> None:
    opened = f"{PAGE}?user_code={code}"
    organization = re.search(r'name="organization" value="([^"]+)"', browser.get(opened).text)
    values = {"organization": organization[1]} if organization else {}
    answer = browser.post(PAGE, form=opened, user_code=code, do=do, **values)
    assert answer.status == 200, answer.text


def test_login__confirmed__keeps_keys_that_logout_revokes(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    command = Command(tmp_path, variables={"FIELDPOST_PROFILE": "work"})

    with command.started("login", "--url", service.base_url + "/") as started:
        begun = next_line(started)
        decide(logged_in(api, person_of(tenant)), begun["userCode"], "authorize")
        shown = next_line(started)
        assert started.wait(60) == 0

    assert begun == {
        "verificationUri": f"{service.base_url}{PAGE}",
        "verificationUriComplete": f"{service.base_url}{PAGE}?user_code={begun['userCode']}",
        "userCode": begun["userCode"],
        "expiresIn": 900,
    }
    assert (shown["url"], shown["profile"]) == (service.base_url, "work")
    assert shown["organization"]["name"] == tenant.organization.name
    assert command.run("whoami").json()["key"]["id"] == shown["key"]["id"]
    assert command.run("forms", "list").json()[0]["key"] == "inbox"
    sent = command.run("trigger", "submission.created").json()
    assert command.run("submissions", "list").json() == []
    assert [one["id"] for one in command.run("submissions", "list", "--test").json()] == [sent["id"]]
    path = tmp_path / ".config" / "fieldpost" / "work.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    elsewhere = command.run("whoami", FIELDPOST_URL="http://127.0.0.1:1")
    assert elsewhere.error() == (1, "not_logged_in")

    out = command.run("logout").json()

    assert (out["url"], out["profile"], out["revoked"][0]) == (service.base_url, "work", shown["key"]["id"])
    assert not path.exists()
    made = AccessKey.objects.filter(organization=tenant.organization, name=platform.node())
    assert sorted(key.mode for key in made) == ["live", "test"]
    assert {key.public_id for key in made} == set(out["revoked"])
    assert all(key.revoked_at for key in made)
    assert command.run("whoami").error() == (1, "not_logged_in")
    assert command.run("logout").error() == (1, "not_logged_in")


def test_login__denied__is_an_error_and_keeps_nothing(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()

    with Command(tmp_path, service.base_url).started("login") as started:
        decide(logged_in(api, person_of(tenant)), next_line(started)["userCode"], "deny")
        out, err = started.communicate(timeout=60)

    assert (started.returncode, out) == (1, b"")
    assert json.loads(err.splitlines()[-1])["error"]["code"] == "access_denied"
    assert not (tmp_path / ".config").exists()


@pytest.mark.on_sqlite
def test_login__without_an_address__asks_for_one(tmp_path: Path) -> None:
    assert Command(tmp_path).run("login").error() == (1, "usage")


@pytest.mark.on_sqlite
def test_logout__service_away__keeps_the_profile(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "fieldpost"
    folder.mkdir(parents=True)
    live = {"id": "key_1", "key": "fp_a"}
    profile = {"url": "http://127.0.0.1:1", "events_url": "", "organization": {}, "live": live, "test": live}
    (folder / "default.json").write_text(json.dumps(profile))

    assert Command(tmp_path).run("logout").error() == (1, "unreachable")
    assert (folder / "default.json").exists()


def test_login__ended_before_it_is_confirmed__leaves_no_key(service: Application, tmp_path: Path) -> None:
    with Command(tmp_path, service.base_url).started("login") as started:
        next_line(started)

    assert not (tmp_path / ".config").exists()
    assert DeviceLogin.objects.filter(organization__isnull=True).exists()
