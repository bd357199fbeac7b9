"""Static files after `collectstatic`: compressed, and kept by browsers under names with a hash."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT

pytestmark = pytest.mark.on_sqlite


def test_static_file__after_collectstatic__is_compressed_and_kept_for_good(
    start_service: Callable[..., Application], service: Application, tmp_path: Path
) -> None:
    """Before it, `make run` serves the same file under its plain name."""
    database = f"sqlite:///{service.environment['DATA_DIR']}/fieldpost.sqlite3"
    settings = {"DATA_DIR": str(tmp_path), "DATABASE_URL": database}
    command = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=True)
    with Client(start_service(**settings).port) as client:
        path = re.search(r"/static/brand/tokens\.[0-9a-f]{12}\.css", client.get("/account/login/").text)
        assert path
        answer = client.get(path[0], headers={"Accept-Encoding": "gzip"})
    assert (answer.status, answer.headers["Content-Encoding"]) == (200, "gzip")
    assert "immutable" in answer.headers["Cache-Control"]
    with Client(service.port) as client:
        assert "/static/brand/tokens.css" in client.get("/account/login/").text
