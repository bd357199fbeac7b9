"""A server in ten minutes: each block of the page, run as it is written, but for the places of files."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from config.environment.env_file import read_env_file
from tests.checks.sources import ROOT
from tests.services.client import Client
from tests.services.environment import for_tests
from tests.services.processes import Process, free_port
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.browser import PASSWORD

PAGE = (ROOT / "docs" / "running.md").read_text()
SECTION = PAGE.partition("## Your own server in ten minutes")[2].partition("\n## ")[0]
ON_DEBIAN, IN_CONTAINERS = (
    re.findall(r"^```sh\n(.*?)^```$", part, re.MULTILINE | re.DOTALL) for part in SECTION.split("### In containers")
)
NAME = "forms.example.com"  # of the first block, for the others: a reader has one shell
PLACES = ("/opt/fieldpost", "/etc/", "/usr/local/", "/var/")  # of the page; of the test they are in its directory
FOLDERS = (
    "etc/systemd/system",
    "etc/nginx",
    "etc/ssl",
    "etc/cron.daily",
    "usr/local/bin",
    "var/lib/fieldpost/files",
    "var/backups",
)
# Programs that change the machine, or that only one with systemd has. `runuser --user fieldpost --` has a command.
NOTHING = "#!/bin/sh\n"
NOTED = '#!/bin/sh\necho "$(basename "$0") $@" >> {top}/called\n'
STUBS = {
    **dict.fromkeys(("apt-get", "useradd", "chown", "nginx"), NOTHING),
    **dict.fromkeys(("systemctl", "certbot", "docker"), NOTED),
    "python3": "#!/bin/sh\nln -s {root}/.venv .venv\n",  # -m venv .venv
    "journalctl": "#!/bin/sh\ncat {top}/log\n",
    "runuser": '#!/bin/sh\nshift 3\nexec "$@"\n',
}


class Server:
    """The machine of the page."""

    def __init__(self, top: Path) -> None:
        self.top, self.port, self.code = top, free_port(), top / "opt" / "fieldpost"
        self.places = {place: f"{top}{place}" for place in PLACES}
        (top / "bin").mkdir()
        for name, text in STUBS.items():
            program = top / "bin" / name
            program.write_text(text.format(root=ROOT, top=top))
            program.chmod(stat.S_IRWXU)
        for folder in FOLDERS:
            (top / folder).mkdir(parents=True)
        (top / "log").touch()
        self.environment = {
            **for_tests(os.environ),
            "PATH": f"{top / 'bin'}:{top / 'usr/local/bin'}:{os.environ['PATH']}",
            "NAME": NAME,
        }

    def here(self, text: str) -> str:
        """Return a text with the places of the page in the directory of the test."""
        for place, own in self.places.items():
            text = re.sub(rf"(?<![\w.]){re.escape(place)}", own, text)
        return text

    def run(self, block: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", self.here(block)],
            cwd=self.code,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        return done.stdout

    def called(self) -> str:
        """Return the calls of programs that the test has not, a line each."""
        file = self.top / "called"
        return file.read_text() if file.exists() else ""

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
                environment |= read_env_file(Path(value))
        environment |= {"PORT": str(self.port), "EVENTS_PORT": str(free_port())}
        command = next(value for name, _, value in lines if name == "ExecStart").split()
        return Process("own", command, log=self.top / "log", env=environment, cwd=self.code)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Return the machine, with links for a copy of the repository, but for the folder that blocks write to."""
    code = tmp_path / "opt" / "fieldpost"
    shutil.copytree(ROOT / "deploy", code / "deploy")
    for each in ROOT.iterdir():
        if each.name not in (".venv", "data", "deploy"):
            (code / each.name).symlink_to(each)
    return Server(tmp_path)


@pytest.mark.on_sqlite
def test_blocks__in_their_order__make_a_service_that_the_first_person_sets_up(
    server: Server, smtp: MailReceiver
) -> None:
    packages, settings, service, certificate, proxy, mail, backup, restore = ON_DEBIAN
    assert packages.startswith(f"NAME={NAME}\n")
    server.run(packages)
    server.run(settings)
    file = server.top / "etc" / "fieldpost.env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    data_dir = re.findall(r"DATA_DIR=(\S+)", (server.code / "deploy/systemd/fieldpost.service").read_text())
    assert [read_env_file(file)["DATA_DIR"]] == [server.here(each) for each in data_dir]  # the same for commands
    file.write_text(re.sub("^EMAIL_URL=.*", f"EMAIL_URL={smtp.url}", file.read_text(), flags=re.MULTILINE))

    shown: list[str] = []
    installing = threading.Thread(target=lambda: shown.append(server.run(service)))  # until the link is there
    installing.start()
    eventually(lambda: "systemctl enable --now fieldpost" in server.called(), 30, "the unit is started")
    started = server.start()
    try:
        installing.join()
        found = re.fullmatch(r"Set up: https://forms\.example\.com(/setup\?token=\w+)\n", shown[0])
        assert found
        server.run(certificate)
        server.run(proxy)
        set_up(server.port, found[1])
        assert server.run(mail) == f"127.0.0.1:{smtp.port} took the mail.\n"
        server.run(backup)
        with pytest.raises(AssertionError, match="Stop the service first"):
            server.run(restore)
    finally:
        started.stop()
    assert smtp.wait_for("you@example.com")
    (server.top / "var/lib/fieldpost/fieldpost.sqlite3").unlink()
    (server.top / "var/backups/fieldpost/files").mkdir(exist_ok=True)
    (server.top / "var/backups/fieldpost/files/one").touch()
    server.run(restore)
    server.run("fieldpost-manage organization_usage acme")  # which the copy has
    assert (server.top / "var/lib/fieldpost/files/one").exists()
    assert f"server_name {NAME};" in (server.top / "etc/nginx/nginx.conf").read_text()
    (copy,) = (server.top / "var/backups/fieldpost").glob("*.sqlite3")
    assert copy.stat().st_size > 0


def set_up(port: int, link: str) -> None:
    """Set the service up, as its first person does through the proxy."""
    proxied = {"Host": NAME, "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    form = {**proxied, "Content-Type": "application/x-www-form-urlencoded"}
    values = f"organization=Acme&name=Ada&email=ada@example.com&password1={PASSWORD}"
    with Client(port) as client:
        assert client.get(link, headers=proxied).status == 200
        data = f"{link.partition('?')[2]}&{values}"
        assert client.post("/setup", data=data, headers=form).status == 302


@pytest.mark.on_sqlite
def test_mail__that_the_server_refuses__is_said_in_a_line(tmp_path: Path, smtp: MailReceiver) -> None:
    smtp.refusals["nobody@example.com"] = "550 5.1.1 no such user"
    environment = {
        **for_tests(os.environ),
        "DATABASE_URL": "sqlite://:memory:",
        "SECRET_KEY": "k" * 50,
        "EMAIL_URL": smtp.url,
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "sendtestemail", "nobody@example.com"],
        cwd=ROOT,
        env={**environment, "DATA_DIR": str(tmp_path), "DEFAULT_FROM_EMAIL": "forms@example.com"},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert (done.returncode, done.stdout) == (1, "")
    reply = "{'nobody@example.com': (550, b'5.1.1 no such user')}"
    said = f"CommandError: 127.0.0.1:{smtp.port} did not take the mail from forms@example.com: {reply}\n"
    assert done.stderr.endswith(said)
    assert "Traceback" not in done.stderr


@pytest.mark.on_sqlite
def test_blocks__without_a_name__stop_before_they_write_anything(server: Server) -> None:
    """A reader who goes on in a new shell gets a line that says so, and no nginx without a name."""
    del server.environment["NAME"]
    with pytest.raises(AssertionError, match="NAME: "):
        server.run(ON_DEBIAN[3])
    with pytest.raises(AssertionError, match="NAME: "):
        server.run(ON_DEBIAN[4])
    assert server.called() == ""


@pytest.mark.on_sqlite
def test_blocks__of_containers__fill_in_all_that_compose_asks_for(server: Server) -> None:
    settings, start, mail_and_backup, restore = IN_CONTAINERS
    server.run(settings)
    given = read_env_file(server.code / "deploy" / ".env")
    asked = set(re.findall(r"\$\{(\w+):\?", (server.code / "deploy" / "compose.yaml").read_text()))
    assert set(given) == asked
    assert len(set(given.values())) == len(given)
    assert {len(password) for password in given.values()} == {48}
    stated = read_env_file(server.code / "deploy" / "fieldpost.env")
    assert (stated["PUBLIC_URL"], len(stated["SECRET_KEY"])) == (f"https://{NAME}", 64)

    for block in (start, mail_and_backup, restore):
        server.run(block)
    services = set(re.findall(r"^  (\w+):$", (server.code / "deploy" / "compose.yaml").read_text(), re.MULTILINE))
    named = re.findall(r" exec (?:--no-TTY )?(\w+) | cp (\w+):", server.called())
    assert {name for pair in named for name in pair if name} == {"web", "postgres"} <= services
    [stopped] = re.findall(r" stop (.+)", server.called())
    assert services > {*stopped.split()}  # all that write, and the database goes on
