"""The command `fieldpost` at a terminal: text for people, questions, and nothing that a terminal would obey."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from keys.access_keys import ALL_PERMISSIONS, issue_key
from keys.models import AccessKey
from tests.services.application import Application
from tests.services.client import Client
from tests.support.fieldpost_command import Command, command_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant


def at_a_terminal(command: Command, *arguments: str, answer: bytes = b"") -> tuple[int, str]:
    """Return the status and the output of a command that runs at its own terminal."""
    mine, its = pty.openpty()
    started = subprocess.Popen(
        [sys.executable, "-m", "fieldpost", *arguments],
        cwd=command.folder,
        env=command.environment(TERM="xterm"),
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    os.write(mine, answer)
    output = b""
    while True:
        try:
            part = os.read(mine, 65_536)
        except OSError:  # the other end is closed
            break
        output += part
        if not part:
            break
    os.close(mine)
    return started.wait(60), output.decode()


@pytest.mark.on_sqlite
@pytest.mark.parametrize(("answer", "status", "label"), [(b"y\n", 0, "Go"), (b"n\n", 1, "")])
def test_apply__at_a_terminal__asks(
    answer: bytes, status: int, label: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    command = command_of(service, tenant.key, tmp_path)
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "inbox.yaml").write_text("name: Inbox\nstatus: published\nbuttonLabel: Go\n")

    found, output = at_a_terminal(command, "forms", "apply", answer=answer)

    assert (found, "Make these changes?" in output) == (status, True)
    assert api.get("/api/forms/by-key/inbox", tenant.key).json()["data"]["buttonLabel"] == label


@pytest.mark.on_sqlite
def test_doctor__at_a_terminal__lists_what_was_reached_and_that_nobody_is_mailed(
    service: Application, tmp_path: Path
) -> None:
    tenant = make_tenant()
    _, key = issue_key(
        organization=tenant.organization, name="Laptop", by=None, permissions=ALL_PERMISSIONS, mode=AccessKey.Mode.TEST
    )

    status, output = at_a_terminal(command_of(service, key, tmp_path), "doctor")

    names = [line.partition(":")[0].rpartition(" ")[2] for line in output.splitlines()]
    assert (status, names) == (0, ["network", "submit", "mail"])
    assert "Nobody gets mails of this form" in output


@pytest.mark.on_sqlite
def test_import__at_a_terminal__ends_its_progress_and_says_how_to_undo(service: Application, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("createdAt,a\n" + "never,1\n" * 25 + "2025-01-01,1\n")
    command = command_of(service, make_tenant().key, tmp_path)

    status, output = at_a_terminal(command, "submissions", "import", "a.csv", "--form", "inbox")

    lines = output.splitlines()
    assert (status, lines[-3:-1]) == (1, ["… and 5 more problems", "1 imported, 0 known already, 25 refused"])
    assert "Import a file, on the form's page." in lines[-1]
    assert "rows\r\033[Krow 1: " in output


@pytest.mark.on_sqlite
def test_submissions__of_strangers_at_a_terminal__cannot_command_it(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    hostile = "\x1b]0;title\x07\x9b2J\x1b[31mred\u202e"
    submission = submit_and_get_id(api, tenant, "", {"text": hostile, hostile: "a"})
    command = command_of(service, tenant.key, tmp_path)

    for arguments in (["submissions", "list"], ["submissions", "get", submission]):
        status, output = at_a_terminal(command, *arguments)
        assert status == 0
        assert "title" in output
        shown = output.replace("\x1b[1m", "").replace("\x1b[0m", "")  # the bold heads
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
