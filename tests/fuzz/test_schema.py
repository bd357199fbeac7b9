"""
The served OpenAPI schema is true: schemathesis sends what it allows and what it forbids, and every check must hold.

Its own command line runs, so that all of its phases do, the stateful one too. The summary is printed; a failure shows
how to repeat each request. What it leaves out, and why, is in `schemathesis.toml`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from config.base.ids import Prefix, encode_id
from keys.models import AccessKey
from keys.organizations import set_plan
from keys.plans import Plan
from keys.tokens import digest
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT
from tests.support.posted_files import file_field
from tests.support.tenants import Tenant, make_tenant

HERE = Path(__file__).parent
MAX_EXAMPLES = 15  # for each operation
SECONDS = 900  # 47 on quiet cores; for a run that hangs
# The same requests in each run, so that a change is judged by what it changes. `FUZZING_SEED=42` tries others.
SEED = "20261123"
REQUESTS_AN_HOUR = 1_000_000
FILE_FIELD = "cv"  # as in `schemathesis_hooks`
NOWHERE = "http://127.0.0.1:9/hook"  # nothing listens there


def existing_ids(api: Client, tenant: Tenant) -> dict[str, list[str]]:
    """Return ids of every kind by their prefix."""
    ids: dict[str, list[str]] = {"frm": [], "sub": [], "whk": [], "dst": [], "dlv": [], "key": [], "imp": []}
    for form in (tenant.default_form_id, tenant.form(), tenant.form()):
        hook = {"formId": form, "url": NOWHERE, "events": ["submission.created"]}
        webhook = api.post("/api/webhooks", tenant.key, json=hook).json()["data"]["id"]
        destination = {"formId": form, "kind": "http", "name": "CRM", "config": {"url": NOWHERE, "template": {}}}
        answers = {
            "dst": api.post("/api/destinations", tenant.key, json=destination),
            "sub": api.post(f"/api/submit?formId={form}", tenant.key, json={"name": "Ada"}),
            "dlv": api.post(f"/api/webhooks/{webhook}/test", tenant.key),
            "key": api.post("/api/keys", tenant.key, json={"name": "Fuzzed"}),
        }
        for prefix, answer in answers.items():
            ids[prefix].append(answer.json()["data"]["id"])
        rows = {"source": "elsewhere", "rows": [{"createdAt": "2024-01-31T09:30:00Z", "data": {"name": "Ada"}}]}
        imported = api.post(f"/api/submissions/import?formId={form}", tenant.key, json=rows)
        ids["imp"].append(imported.json()["data"]["importId"])
        ids["frm"].append(form)
        ids["whk"].append(webhook)
    ids["files"] = [tenant.form(fields=[file_field(FILE_FIELD)])]
    return ids


def test_schema__fuzzed_with_every_check__holds(
    shared_service: Callable[..., Application], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each request says that it comes from another address, and an hour has room for every test event and replay.
    service = shared_service("serve", TRUSTED_PROXY_COUNT="1", TEST_EVENTS="10000/h", REPLAYS="10000/h")
    tenant = make_tenant()
    set_plan(tenant.organization, Plan.ENTERPRISE, by=None, rate_limit=REQUESTS_AN_HOUR)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    command += ["run", f"{service.base_url}/api/schema", "--header", f"x-access-key: {tenant.key}"]
    command += ["--max-examples", str(MAX_EXAMPLES), "--continue-on-failure", "--no-shrink"]
    command += ["--seed", os.environ.get("FUZZING_SEED") or SEED]
    with Client(service.port) as api:
        ids = existing_ids(api, tenant)
    own_key = AccessKey.objects.get(digest=digest(tenant.key))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.fuzz.schemathesis_hooks",
        "FUZZING_IDS": json.dumps(ids),
        "FUZZING_KEY": encode_id(Prefix.ACCESS_KEY, own_key.pk),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path),
    }
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    with capsys.disabled():
        print(*(line for line in run.stdout.splitlines() if line.startswith(("Seed:", "  2", "=="))), sep="\n")
    assert run.returncode == 0, run.stdout + run.stderr
    assert AccessKey.objects.usable().filter(digest=digest(tenant.key)).exists()  # or everything was just refused
