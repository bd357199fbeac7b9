"""The examples in `deploy/`: the environment in a shell, and the image's default command."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.checks.sources import ROOT

DEPLOY = ROOT / "deploy"


def test_environment_example__in_a_shell__sets_every_variable_as_it_is_written() -> None:
    """An operator sources it before a command; a name and an address with `<` broke that."""
    example = DEPLOY / "fieldpost.env.example"
    names = re.findall(r"^([A-Z_]+)=", example.read_text(), re.MULTILINE)
    assert not re.search(r"^[A-Z_]+=.*[\"' ]", example.read_text(), re.MULTILINE), "docker run keeps quotes"
    script = f'set -eua; . "{example}"; env'
    result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env={}, check=True)
    found = dict(line.split("=", 1) for line in result.stdout.splitlines())
    assert set(names) <= set(found)
    assert found["DEFAULT_FROM_EMAIL"] == "fieldpost@forms.example.com"


def test_image__by_default__migrates_serves_and_delivers_and_is_checked() -> None:
    """One command must be a whole service: `--no-migrate` on an empty volume answered 503 to every submission."""
    text = (DEPLOY / "Dockerfile").read_text()
    (command,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    assert json.loads(command) == ["python", "manage.py", "serve", "--host", "0.0.0.0"]
    assert re.search(r"^HEALTHCHECK ", text, re.MULTILINE)
    assert "VOLUME /data" in text


def test_image__context__has_what_it_copies_and_nothing_else() -> None:
    """The whole repository went to the builder: .git, data and .venv."""
    copied = set(re.findall(r"^COPY (\S+) ", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE))
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert allowed == copied


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.service")), ids=lambda unit: unit.stem)
def test_unit__to_systemd__has_no_mistake(unit: Path, tmp_path: Path) -> None:
    """Nothing but its programs is missing here."""
    text = re.sub(r"/opt/fieldpost/\.venv/bin/\w+", "/bin/true", unit.read_text())
    assert "/bin/true" in text
    (tmp_path / unit.name).write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
