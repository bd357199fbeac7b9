"""`@formspree/core` from npm, unmodified, with our address as its endpoint (docs/contract.md 6.12)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.services.client import Client
from tests.services.processes import ROOT
from tests.support.hosted_posts import FIELDS, GOOD
from tests.support.replies import unknown_id
from tests.support.submitting import stored_data
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # about a client; test_hosted_json.py has the same replies on both

PROGRAM = Path(__file__).parent / "formspree" / "submit.mjs"
TOOLS = ROOT / "build" / "node"  # `make test` installs them there


def submit_with_formspree(api: Client, form_id: str, values: dict[str, str], style: str) -> Any:
    command = ["node", str(PROGRAM), f"http://127.0.0.1:{api.port}", form_id, json.dumps(values), style]
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"run `make build/node/.installed` first: {done.stderr}"
    return json.loads(done.stdout)


@pytest.mark.parametrize("style", ["FormData", "object"])
def test_formspree_client__submits(api: Client, style: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS, redirect_url="https://shop.example/thanks")

    assert submit_with_formspree(api, form_id, GOOD, style) == {
        "kind": "success",
        "next": "https://shop.example/thanks",
    }
    assert stored_data(api, tenant, form_id) == [GOOD]


@pytest.mark.parametrize("style", ["FormData", "object"])
def test_formspree_client__reports_field_errors(api: Client, style: str) -> None:
    fields = {
        "name": [{"code": "REQUIRED_FIELD_MISSING", "message": "Name is required."}],
        "email": [{"code": "TYPE_EMAIL", "message": "Email must be an email address."}],
    }

    seen = submit_with_formspree(api, make_tenant().form(fields=FIELDS), {"name": "", "email": "wrong"}, style)

    assert seen == {"kind": "error", "form": [], "fields": fields}


def test_formspree_client__reports_errors_of_the_form(api: Client) -> None:
    tenant = make_tenant()
    cases = {unknown_id("frm"): "FORM_NOT_FOUND", tenant.form(published=False): "INACTIVE"}

    seen = {form_id: submit_with_formspree(api, form_id, GOOD, "object")["form"][0]["code"] for form_id in cases}

    assert seen == cases
    assert submit_with_formspree(api, tenant.form(), {}, "object")["form"][0]["code"] == "EMPTY"
    refused = submit_with_formspree(api, tenant.form(), {"cv": "me"}, "FormData")
    message = "Files cannot be sent with this form. Remove the file from “cv”, then send it again."
    assert refused == {"kind": "error", "form": [{"code": "NO_FILE_UPLOADS", "message": message}], "fields": {}}
