"""The examples in `deploy/`: the environment of commands, the units, and the image's default command."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from config.environment.env_file import read_env_file
from tests.checks.sources import ROOT

DEPLOY = ROOT / "deploy"


def test_environment_example__to_a_command_and_to_docker__has_the_same_values() -> None:
    """Docker keeps quotes and blanks, which commands and systemd remove."""
    example = DEPLOY / "fieldpost.env.example"
    as_docker = dict(re.findall(r"^([A-Z_]+)=(.*)$", example.read_text(), re.MULTILINE))
    assert read_env_file(example) == as_docker
    assert as_docker["DEFAULT_FROM_EMAIL"] == "fieldpost@forms.example.com"


def test_image__by_default__migrates_serves_and_delivers_and_is_checked() -> None:
    """One command must be a whole service: `--no-migrate` on an empty volume answered 503 to every submission."""
    text = (DEPLOY / "Dockerfile").read_text()
    (command,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    assert json.loads(command) == ["python", "manage.py", "serve", "--host", "0.0.0.0"]
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)
    assert "VOLUME /data" in text
    assert "DATABASE_URL=sqlite:////data/" in text


def test_image__context__has_what_it_copies_and_nothing_else() -> None:
    """The whole repository went to the builder: .git, data and .venv."""
    copied = set(re.findall(r"^COPY (\S+) ", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE))
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert allowed == copied


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.service")), ids=lambda unit: unit.stem)
def test_unit__to_systemd__is_exposed_little(unit: Path) -> None:
    """An exposure of 0 to 10, in tenths: without hardening it is 9.6."""
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=49", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-500:]


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.service")), ids=lambda unit: unit.stem)
def test_unit__to_systemd__has_no_mistake(unit: Path, tmp_path: Path) -> None:
    """Nothing but its programs is missing here."""
    text = re.sub(r"/opt/fieldpost/\.venv/bin/\w+", "/bin/true", unit.read_text())
    assert "/bin/true" in text
    (tmp_path / unit.name).write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
