"""`import_submissions`: files of other services and our own, each row once, whatever stops it."""

import csv
import json
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from submissions.models import Import, Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.processes import ROOT
from tests.support.command_line import complaint, output, run
from tests.support.submitting import records, submit_and_get_id
from tests.support.tenants import Tenant, make_tenant

EXPORTED = ROOT / "tests" / "corpora" / "exported"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def result(service: Application, *arguments: str) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(output(service, "import_submissions", *arguments))
    return printed


@pytest.mark.parametrize(
    ("preset", "name", "expected"),
    [
        (
            "formspree",
            "formspree.json",
            [
                ("2018-11-03T07:28:29.707Z", {"email": "ada@example.com", "message": "Hello"}),
                ("2018-11-04T07:28:29.000Z", {"message": 'Naïve "quotes"'}),
            ],
        ),
        ("netlify", "netlify.json", [("2020-10-13T14:02:06.088Z", {"name": "Ada", "comments": "Hello"})]),
        (
            "typeform",
            "typeform.csv",
            [("2024-10-05T02:41:38.000Z", {"What is your name?": "Ada", "Which day?": "Wednesday"})],
        ),
        (
            "google",
            "google.csv",
            [
                ("2023-01-31T08:30:00.000Z", {"Name": "Ada", "Topics": "Help;Sales"}),
                ("2023-07-31T19:30:00.000Z", {"Name": "Bob"}),
            ],
        ),
    ],
)
def test_preset__export_of_another_service__comes_in_once(
    service: Application, api: Client, tenant: Tenant, preset: str, name: str, expected: list[Any]
) -> None:
    arguments = (str(EXPORTED / name), "--form", tenant.default_form_id, "--preset", preset)
    tried = result(service, *arguments, "--dry-run")
    assert tried == {
        "importId": None,
        "read": len(expected),
        "imported": len(expected),
        "skipped": 0,
        "refused": 0,
    }
    done = result(service, *arguments)
    assert (done["imported"], Import.objects.get(organization=tenant.organization).public_id) == (
        len(expected),
        done["importId"],
    )
    found = records(api, tenant, tenant.default_form_id)
    assert sorted((record["createdAt"], record["data"]) for record in found) == expected
    again = result(service, *arguments, "--import", done["importId"])
    assert (again["imported"], again["skipped"], again["importId"]) == (0, len(expected), done["importId"])


@pytest.mark.parametrize("chosen", ["csv", "json", "ndjson"])
def test_preset__our_own_export__is_the_same_again(
    service: Application, api: Client, tenant: Tenant, chosen: str, tmp_path: Path
) -> None:
    for number in range(3):
        submit_and_get_id(api, tenant, "", {"name": f'Zoë "{number}"', "sum": "=1+1", "text": "a,\r\n;-b"})
    path = tmp_path / f"export.{chosen}"
    path.write_bytes(api.get(f"/api/submissions/export?format={chosen}", tenant.key).body)
    other = make_tenant()
    done = result(service, str(path), "--form", other.default_form_id, "--preset", "fieldpost")
    assert done["imported"] == 3

    def without_ids(owner: Tenant) -> list[Any]:
        return sorted((one["createdAt"], one["data"]["name"], one["data"]) for one in _records(api, owner))

    assert without_ids(other) == without_ids(tenant)


def _records(api: Client, owner: Tenant) -> list[dict[str, Any]]:
    return records(api, owner, owner.default_form_id)


def test_command__refused_rows__are_told_and_written_as_csv(
    service: Application, tenant: Tenant, tmp_path: Path
) -> None:
    path, refused = tmp_path / "rows.csv", tmp_path / "refused.csv"
    path.write_text("at,n\n2024-01-31,1\n01/02/2024,=2\n2999-01-01,3\n,4\n2024-01-31,\n")
    arguments = (str(path), "--form", tenant.default_form_id, "--time", "at", "--refused", str(refused))
    ended = run(service, "import_submissions", *arguments)
    assert ended.returncode == 1
    counts = {"read": 5, "imported": 1, "skipped": 0, "refused": 4}
    import_id = Import.objects.get(organization=tenant.organization).public_id
    assert json.loads(ended.stdout) == {"importId": import_id, **counts}
    assert b"row 2: createdAt: Say in which format this time is" in ended.stderr
    assert ended.stderr.strip().endswith(b"4 of 5 rows were refused.")
    lines = list(csv.reader(StringIO(refused.read_text("utf-8-sig"))))
    assert lines[0] == ["_row", "_field", "_code", "_message", "at", "n"]
    assert [[line[0], line[1], line[2], *line[4:]] for line in lines[1:]] == [
        ["2", "createdAt", "invalid", "01/02/2024", "'=2"],
        ["3", "createdAt", "invalid", "2999-01-01", "3"],
        ["4", "createdAt", "invalid", "", "4"],
        ["5", "data", "empty", "2024-01-31", ""],
    ]
    given = ("--date-format", "%d/%m/%Y", "--date-format", "%Y-%m-%d")
    assert json.loads(run(service, "import_submissions", *arguments[:-2], *given).stdout)["imported"] == 1


def test_command__row_with_too_many_values__is_refused_alone(
    service: Application, tenant: Tenant, tmp_path: Path
) -> None:
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{number}" for number in range(2_000))
    path.write_text(f"at,{names}\n2024-01-31,1{',' * 1_999}\n2024-01-31{',1' * 2_000}\n")
    ended = run(service, "import_submissions", str(path), "--form", tenant.default_form_id, "--time", "at")
    assert json.loads(ended.stdout)["imported"] == 1
    assert b"row 2: A submission has at most 200 fields; this one has 2,000." in ended.stderr


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        ('at,n\n2024-01-31,1\n2024-01-31,"2\n', ("--time", "at"), "line 3: a quotation mark is opened"),
        ("at,n\n", (), "Name the column with the time"),
        ("at,n\n", ("--time", "at", "--zone", "Mars/Olympus"), "There is no time zone of this name."),
        ("at,n\n", ("--time", "at", "--map", "n"), "Write --map as COLUMN=NAME, not 'n'."),
        ("at,n\n", ("--time", "at", "--import", "imp_1"), "There is no import with this id into this form."),
    ],
)
def test_command__that_cannot_be_carried_out__says_so_and_changes_nothing(
    service: Application, tenant: Tenant, tmp_path: Path, content: str, more: tuple[str, ...], says: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(content)
    told = complaint(service, "import_submissions", str(path), "--form", tenant.default_form_id, *more)
    assert says in told
    assert not Submission.objects.filter(organization=tenant.organization).exists()


def test_command__killed_and_run_again__has_each_row_once(service: Application, tenant: Tenant, tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.csv", 3_000
    path.write_text("at,n\n" + "".join(f"2024-01-31T09:30:00Z,{number}\n" for number in range(rows)))
    arguments = ["import_submissions", str(path), "--form", tenant.default_form_id, "--time", "at"]
    command = [sys.executable, "manage.py", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=service.environment, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.send_signal(signal.SIGKILL)
    assert line.startswith(b"Import imp_")
    stored = Submission.objects.filter(organization=tenant.organization)
    assert 500 <= stored.count() <= rows
    before = stored.count()
    again = result(service, *arguments[1:], "--import", line.decode().split()[1])
    # PostgreSQL may have ended a commit after the count: the process was killed, not its session.
    assert before <= again["skipped"] <= rows
    assert again["imported"] == rows - again["skipped"]
    assert sorted(int(data["n"]) for data in stored.values_list("data", flat=True)) == list(range(rows))
    batch = Import.objects.get(organization=tenant.organization)
    assert (batch.kept, batch.spam) == (rows, 0)
