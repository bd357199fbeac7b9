"""docs/api.md: its examples for the shell and those in plain Python, in their order, against the running service."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.checks.sources import ROOT
from tests.services.application import Application
from tests.services.receivers import Receiver
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite

BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE | re.DOTALL)
BY_KEY = "/api/forms/by-key/"  # in Python too; its other programs are excerpts, or need a generated client
EXAMPLES = [
    text if language == "sh" else f"FIELDPOST=$FIELDPOST KEY=$KEY python3 - <<'END'\n{text}END\n"
    for language, text in BLOCKS
    if language == "sh" or BY_KEY in text
]
# An answer that is an error ends the script; the examples do not ask curl for it, so that a reader sees the answer.
PLAIN = {"PATH": os.environ["PATH"]}  # without FIELDPOST and KEY of the person who runs the tests
RETRY = 'curl -sS -X POST "$FIELDPOST/api/deliveries/$DELIVERY/retry"'
# While it is being sent the answer is 409.
SENT = (
    'until curl -sS "$FIELDPOST/api/deliveries/$DELIVERY" -H "x-access-key: $KEY" | grep -q \'"status":"delivered"\'\n'
    "do :; done\n"
)
STRICT = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'


def test_examples__of_the_page_in_their_order__get_no_error(
    service: Application, receiver: Receiver, tmp_path: Path
) -> None:
    assert len(EXAMPLES) > 20
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "demo-key").write_text(f"{make_tenant().key}\n")
    script = "".join(f"{example}echo\n" for example in EXAMPLES)
    assert script.count(RETRY) == 1
    script = script.replace(RETRY, SENT + RETRY)
    script = script.replace("http://127.0.0.1:8000", service.base_url)
    script = re.sub(r"http://127\.0\.0\.1:9000/hook", receiver.url(), script)
    done = subprocess.run(
        ["bash", "-c", STRICT + script], cwd=tmp_path, capture_output=True, text=True, timeout=120, env=PLAIN
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "idempotent-replayed: true" in done.stdout.lower()
    assert "description  -> We answer within a day." in done.stdout
    assert re.search(r"^304$", done.stdout, re.MULTILINE)
