"""Components of frameworks, built and opened on a page of the site."""

import json
import subprocess
from pathlib import Path

from tests.support.chromium.coverage import TOOLS
from tests.support.chromium.visitor import Visitor


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, entry: Path) -> tuple[str, str]:
    """Return the HTML and the script that the recipe's framework makes of it."""
    made = json.loads(run("node", str(Path(__file__).with_name("build.mjs")), kind, str(entry)))
    return made["html"], made["script"]


def open_component(visitor: Visitor, kind: str, entry: Path) -> None:
    html, script = build(kind, entry)
    url = visitor.site.add(script, path=f"/{kind}.js", headers={"Content-Type": "text/javascript; charset=utf-8"})
    visitor.open(f'<div id="app">{html}</div><script src="{url}"></script>', tag="")
