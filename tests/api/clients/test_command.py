"""The command `fieldpost`: its output for programs, its errors, who it is, and submissions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from fieldpost.cli.main import main
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT
from tests.services.receivers import Receiver, Reply
from tests.support.fieldpost_command import Command, command_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant


def commands(group: click.Group = main) -> list[click.Command]:
    below = [command for one in group.commands.values() if isinstance(one, click.Group) for command in commands(one)]
    return [*group.commands.values(), *below]


def test_whoami__key_of_the_environment__shows_whose_it_is(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()

    shown = command_of(service, tenant.key, tmp_path).run("whoami").json()

    me = api.get("/api/me", tenant.key).json()["data"]
    assert shown["key"].pop("lastUsedAt")
    assert me["key"].pop("lastUsedAt")
    expected = {"organization": me["organization"], "key": me["key"]}
    assert shown == {"url": service.base_url, "profile": None, **expected}


def test_forms_list__is_the_array_of_the_api(service: Application, api: Client, tmp_path: Path) -> None:
    tenant = make_tenant()
    tenant.form()

    shown = command_of(service, tenant.key, tmp_path).run("forms", "list").json()

    assert shown == api.get("/api/forms", tenant.key).json()["data"]


def test_submissions__list_get_and_export__are_those_of_the_api(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    form_id, command = tenant.form(), command_of(service, tenant.key, tmp_path)
    sent = [submit_and_get_id(api, tenant, form_id, {"text": f"Grüße\n{number}"}) for number in range(3)]
    submit_and_get_id(api, tenant, "", {"text": "in the inbox"})
    listed = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"]

    assert command.run("submissions", "list", "--form", "contact").json() == listed
    assert command.run("submissions", "list", "--form", "contact", "--limit", "2").json() == listed[:2]
    assert command.run("submissions", "list", "--query", "in the inbox").json()[0]["data"] == {"text": "in the inbox"}
    assert command.run("submissions", "get", sent[0]).json() == listed[-1]
    for name in ("csv", "json", "ndjson"):
        wanted = api.get(f"/api/submissions/export?formId={form_id}&format={name}", tenant.key).body
        exported = command.run("submissions", "export", "--form", "contact", "--format", name)
        command.run("submissions", "export", "--form", "contact", "--format", name, "--output", "out")
        assert (exported.status, exported.out, (tmp_path / "out").read_bytes()) == (0, wanted, wanted)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("arguments", "variables", "code"),
    [
        ([], {}, "usage"),
        (["fly"], {}, "usage"),
        (["whoami", "--key", "fp_a"], {}, "usage"),
        (["whoami", "fp_a"], {}, "usage"),
        (["submissions", "list", "--limit", "0"], {}, "usage"),
        (["submissions", "list", "--form", "none"], {}, "not_found"),
        (["submissions", "list", "--from", "tomorrow"], {}, "validation_error"),
        (["submissions", "get", "sub_x"], {}, "validation_error"),
        (["submissions", "export", "--output", "no/such/folder"], {}, "invalid_file"),
        (["forms", "pull", "../x"], {}, "usage"),
        (["forms", "pull", "none"], {}, "not_found"),
        (["forms", "plan"], {}, "no_form"),
        (["whoami"], {"FIELDPOST_KEY": "fp_wrong"}, "invalid_access_key"),
        (["whoami"], {"FIELDPOST_KEY": "fp ä"}, "usage"),
        (["whoami"], {"FIELDPOST_URL": "forms.example"}, "usage"),
        (["whoami"], {"FIELDPOST_URL": "http://127.0.0.1:1"}, "unreachable"),
        (["whoami"], {"FIELDPOST_PROFILE": "../x"}, "usage"),
    ],
    ids=repr,
)
def test_command__that_fails__prints_one_error_and_ends_with_1(
    arguments: list[str], variables: dict[str, str], code: str, service: Application, tmp_path: Path
) -> None:
    command = command_of(service, make_tenant().key, tmp_path)

    assert command.run(*arguments, **variables).error() == (1, code)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("url", "key", "code"),
    [("", "", "not_logged_in"), ("", "fp_a", "usage"), ("http://a.example", "", "not_logged_in")],
)
def test_command__without_a_key__says_so(url: str, key: str, code: str, tmp_path: Path) -> None:
    assert Command(tmp_path, url, key).run("forms", "list").error() == (1, code)


@pytest.mark.on_sqlite
def test_command__another_server__is_not_fieldpost(receiver: Receiver, tmp_path: Path) -> None:
    command = Command(tmp_path, receiver.url(""), "fp_a")

    receiver.reply = Reply(404, body=b"<h1>Not found</h1>")
    assert command.run("whoami").error() == (1, "not_fieldpost")
    receiver.reply = Reply(302, {"Location": "https://elsewhere.example/login"})
    assert command.run("whoami").error() == (1, "not_fieldpost")
    receiver.reply = Reply(200, body=b"<h1>Welcome</h1>")
    assert command.run("forms", "list").error() == (1, "not_fieldpost")


@pytest.mark.on_sqlite
def test_command__any__takes_no_key() -> None:
    options = {name for command in commands() for one in command.params for name in one.opts}

    assert len(commands()) > 8
    assert [name for name in options if "key" in name.lower().replace("keys", "")] == []


@pytest.mark.on_sqlite
def test_package__built_and_installed__is_the_command(service: Application, tmp_path: Path) -> None:
    source, dist, place = ROOT / "clients" / "python", tmp_path / "dist", tmp_path / "place"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    [wheel] = dist.iterdir()
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)

    environment = command_of(service, make_tenant().key, tmp_path).environment(PYTHONPATH=str(place))
    done = subprocess.run([place / "bin" / "fieldpost", "whoami"], env=environment, capture_output=True, check=True)

    assert json.loads(done.stdout)["url"] == service.base_url
    assert (place / "fieldpost" / "py.typed").exists()
    assert sorted(path.name for path in place.iterdir() if path.name.startswith("fieldpost"))[0] == "fieldpost"
    assert os.access(place / "bin" / "fieldpost", os.X_OK)
