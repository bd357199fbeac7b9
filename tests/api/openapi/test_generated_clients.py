"""Clients that generators make from our schema, `@fieldpost/sdk` too, do what a consumer does on a running service."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openapi_generator_cli
import pytest

from keys.organizations import set_plan
from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT
from tests.support.npm.packages import pack, run_node, unpack
from tests.support.submitting import records
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # about clients; the API's own tests have the same replies on both

HERE = Path(__file__).parent
DRIVERS = HERE / "drivers"
SDK = ROOT / "clients" / "sdk"
NODE = ROOT / "build" / "node" / "node_modules"  # `make test` installs it
WEBHOOK_URL = "http://127.0.0.1:9/hook"  # nothing listens there
SECONDS = 120
QUIET_JAVA = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dlog.level=error"]  # a short run: no optimizing compiler


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def schema(api: Client, tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_bytes(api.get("/api/schema").body)
    return path


def drive(api: Client, service: Application, command: Sequence[str | Path], cwd: Path, **environment: str) -> None:
    """Run a driver, and compare what it saw with what the service has."""
    tenant = make_tenant()
    set_plan(tenant.organization, Plan.ENTERPRISE, by=None)

    printed = run(*command, service.base_url, tenant.key, WEBHOOK_URL, cwd=cwd, **environment)
    seen: Mapping[str, Any] = json.loads(printed)

    form_id, rows = seen["form"], [{"name": "Ada", "color": "red", "age": "36"}, {"name": "Bob"}]
    newest_first = list(zip(reversed(seen["submissions"]), reversed(rows), strict=True))
    form = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    stored = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"]
    csv = api.get(f"/api/submissions/export?formId={form_id}", tenant.key).body.decode("utf-8-sig")
    webhook = api.get(f"/api/webhooks?formId={form_id}", tenant.key).json()["data"][0]
    assert (form["name"], form["status"], [field["name"] for field in form["fields"]]) == (
        "Contact",
        "published",
        ["name", "color"],
    )
    assert [(row["id"], row["data"]) for row in stored] == newest_first
    assert (seen["status"], seen["fields"]) == (
        "published",
        [["name", "Text", True], ["color", "Select", False]],
    )
    assert seen["refused"] == ["validation_error", "name"]
    assert seen["listed"] == [list(one) for one in newest_first]
    assert seen["followed"] == seen["submissions"]
    assert seen["exported"].lstrip("\ufeff") == csv
    assert seen["webhook"] == [webhook["id"], WEBHOOK_URL, ["submission.created"]]
    assert seen["secret"].startswith("whsec_")
    assert (api.get("/api/forms", seen["key"]).status, seen["permissions"]) == (200, ["forms:read"])


def test_openapi_python_client__generated__drives_the_service(
    api: Client, service: Application, schema: Path, tmp_path: Path
) -> None:
    program = Path(sys.executable).with_name("openapi-python-client")
    package = tmp_path / "fieldpost_api_client"
    options: list[str | Path] = ["--path", schema, "--meta", "none", "--output-path", package, "--fail-on-warning"]
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"  # it formats with our ruff
    run(program, "generate", *options, cwd=tmp_path, PATH=path)

    drive(
        api,
        service,
        [sys.executable, DRIVERS / "python_client.py"],
        tmp_path,
        PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}",
    )


def test_openapi_generator_for_python__generated__drives_the_service(
    api: Client, service: Application, schema: Path, tmp_path: Path
) -> None:
    jar = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
    wanted = "models,apis,supportingFiles,modelDocs=false,apiDocs=false,modelTests=false,apiTests=false"
    options: list[str | Path] = ["generate", "-i", schema, "-g", "python", "-o", tmp_path, "--global-property", wanted]
    run("java", *QUIET_JAVA, "-jar", jar, *options, cwd=tmp_path)

    drive(
        api,
        service,
        [sys.executable, DRIVERS / "generator_client.py"],
        tmp_path,
        PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}",
    )


def test_hey_api_for_typescript__generated__drives_the_service(
    api: Client, service: Application, schema: Path, tmp_path: Path
) -> None:
    for name in ("typescript_client.ts", "tsconfig.json"):
        (tmp_path / name).write_bytes((DRIVERS / name).read_bytes())
    (tmp_path / "node_modules").symlink_to(NODE)
    programs = NODE / ".bin"
    run(programs / "openapi-ts", "-i", schema, "-o", "client", "-c", "@hey-api/client-fetch", cwd=tmp_path)
    run(programs / "tsc", "-p", ".", cwd=tmp_path)
    run(programs / "esbuild", "typescript_client.ts", "--bundle", "--format=esm", "--outfile=driver.mjs", cwd=tmp_path)

    drive(api, service, ["node", "driver.mjs"], tmp_path)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `@fieldpost/sdk` as npm installs it."""
    folder = tmp_path_factory.mktemp("npm")
    app = folder / "app"
    unpack(pack("sdk", folder), app, "@fieldpost/sdk")
    return app


def bundle(app: Path, entry: str) -> str:
    """Return the name of a program without imports."""
    built = f"{Path(entry).stem}.mjs"
    run_node("esbuild", entry, "--bundle", "--format=esm", f"--outfile={built}", cwd=app)
    return built


def test_sdk__packed_and_installed__drives_the_service(api: Client, service: Application, app: Path) -> None:
    tsconfig = json.loads((DRIVERS / "tsconfig.json").read_text()) | {"files": ["sdk_client.ts"]}
    (app / "tsconfig.json").write_text(json.dumps(tsconfig))
    (app / "sdk_client.ts").write_bytes((DRIVERS / "sdk_client.ts").read_bytes())
    run_node("tsc", "-p", ".", cwd=app)

    drive(api, service, ["node", bundle(app, "sdk_client.ts")], app)


def test_sdk__as_its_readme_says__submits_and_reads(api: Client, service: Application, app: Path) -> None:
    tenant = make_tenant()
    code = (SDK / "README.md").read_text().split("```ts submit.ts\n")[1].split("```")[0]
    code = code.replace("https://forms.example.com", service.base_url).replace("frm_…", tenant.default_form_id)
    (app / "submit.ts").write_text(code)

    printed = run("node", bundle(app, "submit.ts"), cwd=app, FIELDPOST_KEY=tenant.key).splitlines()

    (record,) = records(api, tenant, tenant.default_form_id)
    assert printed[0] == record["id"]
    refused = subprocess.run(
        ["node", "submit.mjs"],
        cwd=app,
        env={**os.environ, "FIELDPOST_KEY": "x"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert refused.stderr.startswith("401 invalid_access_key ")


def test_types_of_the_sdk__are_those_of_the_document(schema: Path, tmp_path: Path) -> None:
    types = tmp_path / "schema.ts"
    run_node("openapi-typescript", schema, "-o", types, cwd=NODE.parent)
    assert types.read_bytes() == (SDK / "src" / "schema.ts").read_bytes(), "run `make sdk`"
