"""A role of the database that owns nothing, made by deploy/postgresql-roles.sql, is enough for all but migrations."""

import os
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg import errors

from tests.services.application import LoneRole
from tests.services.backing import migrate
from tests.services.client import Client
from tests.services.environment import POSTGRESQL, service_environment
from tests.services.postgresql import PostgreSQL
from tests.services.processes import ROOT


def url_of(postgresql: PostgreSQL, role: str) -> str:
    return f"postgresql://{role}@{postgresql.host}:{postgresql.port}/fieldpost"


def test_runtime_role__of_the_example__serves_delivers_and_cleans_up_and_changes_no_table(
    postgresql: PostgreSQL, tmp_path: Path
) -> None:
    passwords = {"FIELDPOST_OWNER_PASSWORD": "it's one", "FIELDPOST_APP_PASSWORD": "another"}
    script: list[str | Path] = [
        "psql",
        "--no-psqlrc",
        "--set",
        "ON_ERROR_STOP=1",
        "--file",
        ROOT / "deploy/postgresql-roles.sql",
    ]
    subprocess.run([*script, postgresql.url], env={**os.environ, **passwords}, check=True, capture_output=True)
    owner, runtime = (url_of(postgresql, role) for role in ("fieldpost_owner", "fieldpost_app"))
    migrate(service_environment(data_dir=tmp_path, backend=POSTGRESQL, database_url=owner))
    environment = service_environment(data_dir=tmp_path, backend=POSTGRESQL, database_url=runtime)
    with LoneRole(environment, tmp_path / "service", backend=POSTGRESQL) as web, Client(web.port) as client:
        web.manage("create_organization", "Acme", "--plan", "pro", "--owner", "ada@example.com")
        key = web.manage("create_key", "--organization", "acme", "--name", "Test", "--admin").strip()
        assert client.post("/api/submit", key, json={"a": "some words"}).status == 201
        web.manage("deliver", "--once")
        (row,) = client.get("/api/submissions?q=words", key).json()["data"]
        assert client.get(f"/api/submissions/export?formId={row['formId']}", key).status == 200
        assert client.request("DELETE", f"/api/submissions/{row['id']}", key).status == 200
        web.manage("purge_submissions")
        web.manage("reencrypt_secrets")
        assert client.get("/readyz").json()["status"] == "ready"
    with psycopg.connect(runtime) as connection, pytest.raises(errors.InsufficientPrivilege):
        connection.execute("DROP TABLE submissions_submission")
