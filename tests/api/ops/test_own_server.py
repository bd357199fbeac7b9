"""A server in ten minutes: each block of the page, run as it is written, but for the places of files."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.checks.sources import ROOT
from tests.services.client import Client
from tests.services.environment import for_tests
from tests.services.processes import Process, free_port
from tests.services.receivers import MailReceiver
from tests.support.browser import PASSWORD

PAGE = (ROOT / "docs" / "running.md").read_text()
SECTION = PAGE.partition("## Your own server in ten minutes")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
PLACES = ("/opt/fieldpost", "/etc/", "/var/")  # of the page; of the test they are in its directory
# Programs that change the machine, or that only one with systemd has. `runuser --user fieldpost --` has a command.
NOTHING = "#!/bin/sh\n"
STUBS = {
    **dict.fromkeys(("apt-get", "useradd", "chown", "nginx"), NOTHING),
    "python3": "#!/bin/sh\nln -s {root}/.venv .venv\n",  # -m venv .venv
    "systemctl": '#!/bin/sh\necho "$@" >> {top}/systemctl\n',
    "journalctl": "#!/bin/sh\ncat {top}/log\n",
    "runuser": '#!/bin/sh\nshift 3\nexec "$@"\n',
}


class Server:
    """The machine of the page."""

    def __init__(self, top: Path) -> None:
        self.top, self.port = top, free_port()
        self.places = {place: f"{top}{place}" for place in PLACES}
        (top / "bin").mkdir()
        for name, text in STUBS.items():
            program = top / "bin" / name
            program.write_text(text.format(root=ROOT, top=top))
            program.chmod(stat.S_IRWXU)
        for folder in ("etc/systemd/system", "etc/nginx", "var/lib/fieldpost"):
            (top / folder).mkdir(parents=True)
        self.environment = {**for_tests(os.environ), "PATH": f"{top / 'bin'}:{os.environ['PATH']}"}

    def here(self, text: str) -> str:
        """Return a text with the places of the page in the directory of the test."""
        for place, own in self.places.items():
            text = re.sub(rf"(?<![\w.]){re.escape(place)}", own, text)
        return text

    def run(self, block: str) -> str:
        folder = self.top / "opt" / "fieldpost"
        done = subprocess.run(
            ["bash", "-euc", self.here(block)], cwd=folder, env=self.environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stdout

    def start(self) -> Process:
        """Start what the unit starts, as systemd does."""
        unit = self.here((self.top / "etc/systemd/system/fieldpost.service").read_text())
        lines = [line.partition("=") for line in unit.splitlines() if "=" in line and not line.startswith("#")]
        environment = dict(self.environment)
        for name, _, value in lines:
            if name == "Environment":
                environment |= dict(each.split("=", 1) for each in value.split())
        for name, _, value in lines:  # which win
            if name == "EnvironmentFile":
                stated = [line for line in Path(value).read_text().splitlines() if re.match("[A-Z]", line)]
                environment |= dict(line.split("=", 1) for line in stated)
        environment |= {"PORT": str(self.port), "EVENTS_PORT": str(free_port())}
        command = next(value for name, _, value in lines if name == "ExecStart").split()
        return Process("own", command, log=self.top / "log", env=environment, cwd=self.top / "opt" / "fieldpost")


LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "data", "node_modules", "__pycache__", ".*_cache")


@pytest.fixture
def server(tmp_path: Path) -> Server:
    shutil.copytree(ROOT, tmp_path / "opt" / "fieldpost", ignore=LEFT_OUT)
    return Server(tmp_path)


@pytest.mark.on_sqlite
def test_blocks__in_their_order__make_a_service_that_the_first_person_sets_up(
    server: Server, smtp: MailReceiver
) -> None:
    packages, settings, service, proxy, mail_and_backup = BLOCKS
    server.run(packages)
    server.run(settings)
    file = server.top / "etc" / "fieldpost.env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.write_text(re.sub("^EMAIL_URL=.*", f"EMAIL_URL={smtp.url}", file.read_text(), flags=re.MULTILINE))

    server.run(service.replace("journalctl", "true #"))
    assert (server.top / "systemctl").read_text() == "enable --now fieldpost\n"
    started = server.start()
    try:
        started.wait_until(lambda: "Set up: " in (server.top / "log").read_text(), 60)
        shown = server.run("journalctl --unit fieldpost | grep 'Set up:'")
        found = re.fullmatch(r"Set up: https://forms\.example\.com(/setup\?token=\w+)\n", shown)
        assert found
        proxied = {"Host": "forms.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        with Client(server.port) as client:
            assert client.get(found[1], headers=proxied).status == 200
            token = found[1].partition("token=")[2]
            values = f"token={token}&organization=Acme&name=Ada&email=ada@example.com&password1={PASSWORD}"
            form = {**proxied, "Content-Type": "application/x-www-form-urlencoded"}
            assert client.post("/setup", data=values, headers=form).status == 302
        server.run(proxy)
        server.run(mail_and_backup)
    finally:
        started.stop()
    assert "server_name forms.example.com;" in (server.top / "etc/nginx/nginx.conf").read_text()
    assert smtp.wait_for("ada@example.com")
    assert (server.top / "var/lib/fieldpost/backup.sqlite3").stat().st_size > 0
