"""A service calls nobody that its owner did not name: no licence, no telemetry, no search for updates."""

import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.checks.sources import files
from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import service_environment
from tests.services.processes import ROOT
from tests.services.receivers import MailReceiver
from tests.support.browser import Browser
from tests.support.rooms import walk

APPS = ("config", "keys", "forms_app", "submissions", "webhooks", "dashboard", "templates")
OF_OTHERS = {"config/api/openapi/settings.py", "dashboard/frame/design/build.py"}  # name the MIT licence, copy a file
OWNER = "owner-of-no-calls@example.com"


@pytest.mark.on_sqlite
def test_service__used_in_all_its_rooms__connects_to_nothing_but_its_own(tmp_path: Path, smtp: MailReceiver) -> None:
    log = tmp_path / "connections"
    audited = {"PYTHONPATH": str(ROOT / "tests" / "services" / "audited"), "AUDITED_LOG": str(log)}
    environment = service_environment(data_dir=tmp_path / "data", email_url=smtp.url, extra=audited)
    with Application(environment, tmp_path / "logs") as service, Client(service.port) as client:
        slug = service.manage("create_organization", "Acme", "--owner", OWNER).strip()
        key = service.manage("create_key", "--organization", slug, "--name", "Server").strip()
        browser = Browser(client)
        browser.send(urlsplit(service.manage("login_link", OWNER).strip()).path)
        walk(client, browser, slug)
        form = client.get("/api/forms", key).json()["data"][0]["id"]
        assert client.post(f"/api/submit?formId={form}", key, json={"name": "Ada"}).status == 201
        assert client.get(f"/api/submissions/export?formId={form}", key).status == 200
        Browser(client).send("/account/password/reset/", email=OWNER)
        smtp.wait_for(OWNER)
    seen = [line.split(" ") for line in log.read_text().splitlines()]
    hosts = {host for _, host, *_ in seen if not host.startswith("'/")}  # such a place is a file of this machine
    assert hosts <= {"127.0.0.1", "localhost", socket.gethostname()}
    ports = {rest[0] for event, _, *rest in seen if event == "socket.connect" and rest}
    assert ports == {str(urlsplit(smtp.url).port)}


@pytest.mark.on_sqlite
def test_code__asks_for_no_licence() -> None:
    read = list(files([ROOT / app for app in APPS]))
    assert len(read) > 100
    found = {str(path.relative_to(ROOT)) for path in read if re.search("licen[cs]e", path.read_text(), re.IGNORECASE)}
    assert found == OF_OTHERS
