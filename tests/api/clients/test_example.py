"""clients/examples: its CI, its receiver and its page, against the running service."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml
from lxml import html

from keys.access_keys import ALL_PERMISSIONS
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT, Process, free_port
from tests.services.waiting import eventually
from tests.support.fieldpost_command import SOURCE
from tests.support.submitting import stored_data
from tests.support.tenants import Tenant, make_tenant

pytestmark = pytest.mark.on_sqlite  # about clients; the API's own tests have the same replies on both

EXAMPLE = ROOT / "clients" / "examples"
SECONDS = 120
TRIGGER = (
    "fieldpost trigger submission.created --form contact --override message=Hello --override email=ada@example.com"
)
VALUES = {"email": "bob@example.com", "message": "Hi"}


class Repository:
    """A copy of the example with the service's address, and `fieldpost` as if pipx had installed it."""

    def __init__(self, folder: Path, url: str, tenant: Tenant) -> None:
        self.receiver = folder / "studio" / "receiver"
        self.folder = Path(shutil.copytree(EXAMPLE, folder / "studio"))
        for path in ("forms/contact.yaml", "site/index.html"):
            file = self.folder / path
            file.write_text(file.read_text().replace("https://forms.example.com", url))
        programs = folder / "bin"
        programs.mkdir()
        for name, line in {
            "pipx": "exit 0",
            "fieldpost": f'exec {shlex.quote(sys.executable)} -m fieldpost "$@"',
        }.items():
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(SOURCE),
            "FIELDPOST_URL": url,
            "FIELDPOST_KEY": tenant.issue("forms:read", "forms:write", "webhooks:write"),
        }
        self.workflow = yaml.safe_load((self.folder / ".github" / "workflows" / "forms.yml").read_text())

    def run(self, command: str, folder: str = ".", **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=self.folder / folder,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def run_job(self, name: str, event: str = "") -> tuple[int, str]:
        """Run the steps of a job that GitHub runs for an event; return the last status and what was printed."""
        job, printed = self.workflow["jobs"][name], ""
        folder = job.get("defaults", {}).get("run", {}).get("working-directory", ".")
        for step in job["steps"]:
            if (
                "run" not in step
                or step.get("if", f"github.event_name == '{event}'") != f"github.event_name == '{event}'"
            ):
                continue
            done = self.run(step["run"], folder)
            printed += done.stdout
            if done.returncode:
                return done.returncode, printed + done.stderr
        return 0, printed


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


@pytest.fixture
def repository(tmp_path: Path, service: Application, tenant: Tenant) -> Repository:
    return Repository(tmp_path, service.base_url, tenant)


def test_example__its_ci_and_its_receiver__do_what_the_readme_says(
    repository: Repository, tenant: Tenant, api: Client, tmp_path: Path
) -> None:
    status, planned = repository.run_job("forms", "pull_request")
    assert (status, [(form["key"], form["action"]) for form in json.loads(planned)["forms"]]) == (
        0,
        [("contact", "create")],
    )
    assert repository.run_job("forms", "push")[0] == 0
    assert repository.run_job("forms", "schedule") == (0, '{"forms": []}\n')
    status, printed = repository.run_job("receiver")
    assert status == 0, printed

    received = listen_and_trigger(repository, tenant.issue(*ALL_PERMISSIONS, mode="test"), tmp_path)
    assert received == "Contact: ada@example.com wrote: Hello"

    contact = next(form["id"] for form in api.get("/api/forms", tenant.key).json()["data"] if form["key"] == "contact")
    assert send_page(repository, api, VALUES) == 303
    assert stored_data(api, tenant, contact) == [VALUES], "live ones"

    api.request("PATCH", f"/api/forms/{contact}", tenant.key, json={"name": "Contact us"})
    status, printed = repository.run_job("forms", "schedule")
    assert status == 2
    assert [change["path"] for change in json.loads(printed)["forms"][0]["changes"]] == ["name"]


def listen_and_trigger(repository: Repository, key: str, folder: Path) -> str:
    """Send a test submission as the README says; return what the receiver prints once it has verified it."""
    secret = json.loads(repository.run("fieldpost listen --print-secret", FIELDPOST_KEY=key).stdout)["secret"]
    port, received, forwarded = str(free_port()), folder / "received", folder / "forwarded"
    environment = {**repository.environment, "FIELDPOST_KEY": key, "WEBHOOK_SECRET": secret, "PORT": port}
    listen = ["fieldpost", "listen", "--forward-to", f"http://127.0.0.1:{port}"]
    with ExitStack() as started:
        receiver = Process("receiver", ["node", "start.js"], log=received, env=environment, cwd=repository.receiver)
        started.callback(receiver.stop)
        started.callback(Process("listen", listen, log=forwarded, env=environment, cwd=repository.folder).stop)
        eventually(lambda: '"ready"' in forwarded.read_text(), because="the stream is open")
        eventually(lambda: "Listening" in received.read_text(), because="the receiver has started")
        triggered = repository.run(TRIGGER, FIELDPOST_KEY=key)
        assert triggered.returncode == 0, triggered.stderr
        eventually(lambda: '"status": 204' in forwarded.read_text(), because="the receiver has verified the message")
    return received.read_text().splitlines()[-1]


def send_page(repository: Repository, api: Client, values: dict[str, str]) -> int:
    """Send the form of the page as a browser does; return the status."""
    (form,) = html.fromstring((repository.folder / "site" / "index.html").read_text()).forms
    assert set(form.fields.keys()) == values.keys()
    path = form.action.removeprefix(repository.environment["FIELDPOST_URL"])
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return api.request(form.method, path, data=urlencode(values), headers=headers).status
