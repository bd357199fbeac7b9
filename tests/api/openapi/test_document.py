"""The OpenAPI document as its readers want it: names that people say, texts, tags, no traps for generators."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT

pytestmark = pytest.mark.on_sqlite  # about a document, not rows

NODE_PROGRAMS = ROOT / "build" / "node" / "node_modules" / ".bin"  # `make test` installs them
OF_OUR_CODE = re.compile(r"Patched|Paginated|Writable|Record|Serializer|(?<!Sent)Request$|Inline")
OPERATION_ID = re.compile(r"[a-z]+([A-Z][a-z]+)+")
ENVELOPE = {"success", "data", "message", "pagination"}


@pytest.fixture(scope="module")
def document(service: Application) -> dict[str, Any]:
    with Client(service.port) as api:
        served: dict[str, Any] = api.get("/api/schema").json()
    return served


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section in ("paths", "webhooks"):
        for item in document[section].values():
            yield from item.values()


def every_schema(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the document."""
    if isinstance(value, dict):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from every_schema(below)


def test_validators__of_others__report_nothing(api: Client, tmp_path: Path) -> None:
    served, rules = tmp_path / "schema.json", tmp_path / "spectral.yaml"
    served.write_bytes(api.get("/api/schema").body)
    rules.write_text('extends: ["spectral:oas"]\n')
    assert list(OpenAPIV31SpecValidator(api.get("/api/schema").json()).iter_errors()) == []
    commands: list[tuple[list[str | Path], str]] = [
        (["spectral", "lint", "-r", rules, "-F", "hint", served], "No results"),
        (
            # A key may be `publish`; what an id is says that `by-key` is none, which this rule does not read.
            [
                "redocly",
                "lint",
                "--extends",
                "recommended",
                "--skip-rule",
                "no-ambiguous-paths",
                "--format",
                "json",
                served,
            ],
            '"problems": []',
        ),
    ]
    for command, silence in commands:
        done = subprocess.run(
            [NODE_PROGRAMS / str(command[0]), *command[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, silence in done.stdout) == (0, True), done.stdout + done.stderr


def test_operations__names_and_texts__are_for_people(document: dict[str, Any]) -> None:
    found = list(operations(document))
    ids, summaries = ([operation[name] for operation in found] for name in ("operationId", "summary"))
    assert [one for one in ids if not OPERATION_ID.fullmatch(one)] == []
    assert (len(set(ids)), len(set(summaries))) == (len(ids), len(ids))
    assert {"listForms", "createForm", "archiveForm", "revokeKey", "updateSubmission", "submissionCreated"} <= {*ids}
    assert [one["operationId"] for one in found if not one["description"].endswith(".")] == []
    ours = [one["operationId"] for one in found if re.search(r"Raises|validated|`find|caller", one["description"])]
    assert ours == []


def test_tags__of_operations__are_declared_and_described(document: dict[str, Any]) -> None:
    declared = {tag["name"]: tag["description"] for tag in document["tags"]}
    assert {tag for one in operations(document) for tag in one["tags"]} == declared.keys()
    assert all(len(one["tags"]) == 1 for one in operations(document))
    assert all(text.endswith(".") for text in declared.values())


def test_schemas__names_and_texts__are_for_people(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert [name for name in schemas if OF_OUR_CODE.search(name)] == []
    silent = [
        f"{name}.{member}"
        for name, schema in schemas.items()
        for member, below in schema.get("properties", {}).items()
        if not below.get("description") and member not in ENVELOPE
    ]
    assert silent == []
    labels = [one["description"] for one in every_schema(document) if str(one.get("description")).startswith("* `")]
    assert [text for text in labels if "Url" in text] == []
    parameters = [(one["operationId"], each) for one in operations(document) for each in one.get("parameters", [])]
    assert [(name, each["name"]) for name, each in parameters if not each.get("description")] == []


def test_document__made__gives_no_warning(service: Application) -> None:
    """Two serializers with one name, or a type that could only be guessed."""
    service.manage("spectacular", "--validate", "--fail-on-warn", "--file", os.devnull)


def test_schemas__for_generators__have_no_known_trap(document: dict[str, Any]) -> None:
    everything = list(every_schema(document))
    choices = [one for one in everything if "properties" in one and {"anyOf", "oneOf", "allOf"} & one.keys()]
    assert choices == []  # members become several types, each without the others
    booleans = [one for one in everything for name in ("options", "items", "not") if isinstance(one.get(name), bool)]
    assert booleans == []
    assert [one for one in everything if isinstance(one.get("const"), bool)] == []
    assert [one for one in everything if "readOnly" in one or "writeOnly" in one] == []
    defaults = [one for one in everything for member in one.get("properties", {}).values() if "default" in member]
    assert defaults == []  # TypeScript's generators take such members for required
    patterns = [str(one["pattern"]) for one in everything if "pattern" in one]
    assert [one for one in patterns if not (one.startswith("^") and one.endswith("$"))] == []
    assert [
        one for one in everything if "maxLength" in one and one.get("type") not in ("string", ["string", "null"])
    ] == []
    inline = [one["enum"] for one in everything if "enum" in one and None in one["enum"]]
    assert inline == []


def test_responses__may_get_new_members__but_bodies_are_strict(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    strict = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    bodies = {
        content["schema"]["$ref"].rpartition("/")[2]
        for item in document["paths"].values()
        for operation in item.values()
        if "requestBody" in operation
        for content in operation["requestBody"]["content"].values()
        if "$ref" in content["schema"]  # the bytes of a picture have none
    }
    assert strict == bodies - {"SubmissionValues"} | {"NewFormField", "NewFormReply", "NewFormRecipient", "NewFormSpam"}


def test_webhooks__submission_created__has_its_headers_and_body(document: dict[str, Any]) -> None:
    message = document["webhooks"]["submission.created"]["post"]
    event = document["components"]["schemas"]["SubmissionCreatedEvent"]
    data = document["components"]["schemas"]["SubmittedSubmission"]
    headers = {(one["name"], one["in"], one["required"]) for one in message["parameters"]}
    assert headers == {(name, "header", True) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
    assert message["requestBody"]["content"] == {
        "application/json": {"schema": {"$ref": "#/components/schemas/SubmissionCreatedEvent"}}
    }
    assert event["required"] == ["type", "timestamp", "data"]
    assert data["properties"].keys() == set(data["required"])
    assert message["responses"].keys() == {"2XX", "410"}


def test_servers__name_this_service(document: dict[str, Any], service: Application) -> None:
    assert [server["url"] for server in document["servers"]] == [service.base_url]
    assert document["info"]["contact"]["url"] == service.base_url
    assert document["info"]["license"] == {"name": "MIT", "identifier": "MIT"}
