"""`fieldpost submissions import`: files of other services, and our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.support.fieldpost_command import Ran, command_of
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant


def run(service: Application, tenant: Tenant, folder: Path, name: str, content: str | bytes, *options: str) -> Ran:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return command_of(service, tenant.key, folder).run("submissions", "import", name, "--form", "inbox", *options)


def stored(api: Client, tenant: Tenant) -> list[tuple[str, Any, bool]]:
    found = api.get("/api/submissions?limit=100&spam=all", tenant.key).json()["data"]
    return [(one["createdAt"], one["data"], one["spam"]) for one in found]


CASES: list[tuple[str, str | bytes, list[str], list[tuple[str, Any, bool]]]] = [
    (
        "formspree.json",
        '{"form": 1, "submissions": [{"_id": "1", "_date": "2025-03-01T10:00:00Z", "_replyto": "a@b.example"}]}',
        ["--preset", "formspree"],
        [("2025-03-01T10:00:00.000Z", {"email": "a@b.example"}, False)],
    ),
    (
        "formspree_api.json",
        '{"ok": true, "fields": ["a"], "submissions": [{"_date": "2025-03-01T10:00:00.5", "a": "🎉"}]}',
        ["--preset", "formspree"],
        [("2025-03-01T10:00:00.500Z", {"a": "🎉"}, False)],
    ),
    (
        "netlify_file.json",
        '[{"id": "6", "created_at": "2025-03-01T10:00:00Z",'
        ' "data": {"cv": {"filename": "a.pdf", "url": "https://x.example/a"}, "all": [{"url": "b"}, {"url": "c"}]}}]',
        ["--preset", "netlify"],
        [("2025-03-01T10:00:00.000Z", {"cv": "https://x.example/a", "all": "b, c"}, False)],
    ),
    (
        "netlify.json",
        '[{"id": "5", "created_at": "2025-03-01T10:00:00.123+01:00", "data": {"name": "Ada", "ip": "::1"}}]',
        ["--preset", "netlify"],
        [("2025-03-01T09:00:00.123Z", {"name": "Ada"}, False)],
    ),
    (
        "google.csv",
        "Timestamp,Your name\r\n2025/03/01 10:00:00 PM GMT+1,Ada\r\n2025/03/02 9:00:00 AM GMT-11,Bob\r\n",
        ["--preset", "google", "--map", "Your name=name"],
        [("2025-03-02T20:00:00.000Z", {"name": "Bob"}, False), ("2025-03-01T21:00:00.000Z", {"name": "Ada"}, False)],
    ),
    (
        "basin.csv",
        'Sent;Who;Secret;Junk\n31.12.2024 23:30;Grüße, "Ada";x;yes\n'.encode("cp1252"),
        [
            *("--map", "Sent=createdAt", "--map", "Who=name", "--map", "Secret=", "--map", "Junk=spam"),
            *("--date-format", "%d.%m.%Y %H:%M", "--zone", "Europe/Berlin"),
        ],
        [("2024-12-31T22:30:00.000Z", {"name": 'Grüße, "Ada"'}, True)],
    ),
    (
        "lines.ndjson",
        '{"createdAt": "2025-03-01T10:00:00Z", "a": 1.50, "b": ["x", "y"]}\n\n',
        [],
        [("2025-03-01T10:00:00.000Z", {"a": "1.50", "b": "x, y"}, False)],
    ),
]


@pytest.mark.parametrize(("name", "content", "options", "expected"), CASES, ids=[case[0] for case in CASES])
def test_import__file_of_a_service__has_its_times_and_values(
    name: str,
    content: str | bytes,
    options: list[str],
    expected: list[tuple[str, Any, bool]],
    service: Application,
    api: Client,
    tmp_path: Path,
) -> None:
    tenant = make_tenant()

    dry = run(service, tenant, tmp_path, name, content, *options, "--dry-run")
    assert dry.json() == {"importId": None, "imported": len(expected), "skipped": 0, "problems": []}
    assert stored(api, tenant) == []
    first = run(service, tenant, tmp_path, name, content, *options).json()
    again = run(service, tenant, tmp_path, name, content, *options).json()

    assert (first["imported"], again["imported"], again["skipped"]) == (len(expected), 0, len(expected))
    assert first["importId"].startswith("imp_")
    assert stored(api, tenant) == expected


@pytest.mark.parametrize("format_", ["csv", "json", "ndjson"])
def test_import__our_own_export__comes_back_as_it_was(
    format_: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant, other = make_tenant(), make_tenant()
    values = {"formula": "=1+1", "lines": "a\n-1;=2", "quote": "'plain'", "id": "mine", "text": 'Grüße, "Ada"; |b'}
    submit_and_get_id(api, tenant, "", values)
    export = api.get(f"/api/submissions/export?format={format_}", tenant.key).body

    done = run(service, other, tmp_path, f"export.{format_}", export, "--preset", "fieldpost")

    assert done.json()["imported"] == 1
    assert stored(api, other) == stored(api, tenant)


def test_import__rows_that_are_refused__are_counted_over_the_whole_file(
    service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()
    rows = [{"createdAt": f"2025-01-01T00:{row // 60:02}:{row % 60:02}Z", "n": row} for row in range(1_002)]
    rows[3]["createdAt"] = "03/04/2025"
    rows[500]["createdAt"] = "2999-01-01T00:00:00Z"
    rows[1_001] = {"createdAt": "2025-01-01T00:00:00Z", "n": {"deep": [{}]}}

    done = run(service, tenant, tmp_path, "rows.ndjson", "\n".join(json.dumps(row) for row in rows))

    shown = json.loads(done.out)
    assert (done.status, shown["imported"], shown["skipped"]) == (1, 999, 0)
    assert [(one["row"], one["field"]) for one in shown["problems"]] == [
        (3, "createdAt"),
        (500, "createdAt"),
        (1_001, "data.n"),
    ]
    assert api.get("/api/submissions", tenant.key).json()["pagination"]["total"] == 999


WIDE = ",".join(f"c{number}" for number in range(2_000))


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("name", "content", "options", "code"),
    [
        ("a.csv", 'createdAt,a\n2025-01-01,"never ends\n\n', [], "invalid_file"),
        ("a.csv", "createdAt,a\n2025-01-01,b,c\n", [], "invalid_file"),
        ("a.csv", "createdAt,createdAt\n2025-01-01,b\n", [], "invalid_file"),
        ("a.csv", "", [], "invalid_file"),
        ("a.csv", "createdAt,a\n2025-01-01," + "a" * 3_000_000, [], "invalid_file"),
        ("a.json", '[{"createdAt": "2025-01-01T00:00:00Z", "a": 1}, {"a"', [], "invalid_file"),
        ("a.json", "5", [], "invalid_file"),
        ("a.json", "[5]", [], "invalid_file"),
        ("a.json", "[" * 100_000, [], "invalid_file"),
        ("a.ndjson", '{"a": 1}\n[1]\n', [], "invalid_file"),
        ("a.xlsx", b"PK\x03\x04", [], "invalid_file"),
        ("a.csv", "Sent at,a\n2025-01-01,b\n", [], "no_time"),
        ("a.csv", "createdAt,a\n2025-01-01,b\n", ["--zone", "Mars/Olympus"], "usage"),
        ("a.csv", "createdAt,a\n2025-01-01,b\n", ["--map", "a"], "usage"),
        ("a.csv", "createdAt,a\n2025-01-01,b\n", ["--preset", "other"], "usage"),
        ("a.csv", "createdAt,a\n2025-01-01,b\n", ["--form", "none"], "not_found"),
        ("a.csv", "createdAt,a\n2025-01-01,b\n", ["--source", "s" * 41], "validation_error"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_import__that_cannot_be_read__changes_nothing(
    name: str, content: str | bytes, options: list[str], code: str, service: Application, api: Client, tmp_path: Path
) -> None:
    tenant = make_tenant()

    assert run(service, tenant, tmp_path, name, content, *options).error() == (1, code)
    assert stored(api, tenant) == []


@pytest.mark.on_sqlite
def test_import__two_thousand_columns__is_a_problem_of_the_row(service: Application, tmp_path: Path) -> None:
    row = ",".join(["x"] * 2_000)
    done = run(service, make_tenant(), tmp_path, "a.csv", f"createdAt,{WIDE}\n2025-01-01,{row}\n")

    assert done.status == 1
    assert {one["code"] for one in json.loads(done.out)["problems"]} == {"too_many"}
