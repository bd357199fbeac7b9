"""Files of an import: encodings, broken CSV, JSON of any shape, and times as people export them."""

import datetime as dt
import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from config.base.times import format_time
from submissions.exporting.csv_lines import safe_cell
from submissions.importing.files import MAX_RECORD, Unreadable, read_records
from submissions.importing.mapping import Columns, NoTime, read_time, zone_named
from submissions.importing.presets import PRESETS, Preset
from submissions.importing.refused_rows import RefusedRows
from submissions.importing.rows import Problem

BERLIN = ZoneInfo("Europe/Berlin")


def read(tmp_path: Path, content: str | bytes, name: str = "rows.csv") -> list[dict[str, Any]]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_records(path))


@pytest.mark.parametrize(
    "content",
    [
        "name,city\r\nAda,Zürich\r\n",
        "\ufeffname,city\nAda,Zürich",
        "name;city\nAda;Zürich\n\n",
        "name\tcity\nAda\tZürich\n",
        "name,city\nAda,Zürich\n".encode("cp1252"),
        "name,city\nAda,Zürich\n".encode("utf-16"),
        ' name ,city,\n"Ada","Zürich",\n,,\n',
    ],
)
def test_csv__encodings_and_separators__are_found(tmp_path: Path, content: str | bytes) -> None:
    assert read(tmp_path, content) == [{"name": "Ada", "city": "Zürich"}]


def test_csv__quoted_cells_with_lines__stay_whole(tmp_path: Path) -> None:
    assert read(tmp_path, 'a,b\n"one\r\ntwo, ""three""",=1+1\n') == [{"a": 'one\r\ntwo, "three"', "b": "=1+1"}]


@pytest.mark.parametrize(
    ("content", "name", "says"),
    [
        ("", "rows.csv", "The file is empty."),
        ('a,b\n1,2\n"never closed,3\n4,5\n' + "6,7\n" * 100, "rows.csv", "line 3: a quotation mark is opened"),
        (
            'a,b\n"never closed' + "x" * 30 + ("\n" + "y" * 1000) * (MAX_RECORD // 1000 + 1),
            "rows.csv",
            "line 2: a quot",
        ),
        ('a,b\n"1"2,3\n', "rows.csv", "line 2: a quotation mark is opened and not closed, or is inside a cell"),
        ("a,b\n1,2,3\n", "rows.csv", "line 2: it has more cells than the first line"),
        ("a,b,a\n1,2,3\n", "rows.csv", "Two columns have the same name: a"),
        (",".join(f"c{number}" for number in range(5_001)), "rows.csv", "The file has more than 5,000 columns."),
        ("a" * (MAX_RECORD + 1), "rows.csv", "A line has more than"),
        ('{"a": 1}\n{"a": \n', "rows.ndjson", "line 2: The body is not JSON"),
        ("[1]", "rows.ndjson", "line 1: The body must be one JSON object, not an array."),
        ('[{"a": 1}, {"a": ', "rows.json", "object 2: this is no JSON, or does not end"),
        ("[[1]]", "rows.json", "object 1: The body must be one JSON object"),
        ('{"a": 1}', "rows.json", "The file has no list of objects."),
        ("[" * 100_000, "rows.json", "object 1"),
        ('[{"a": ' + "1" * 5_000 + "}]", "rows.json", "object 1: A number has more than 4300 digits."),
        (b"\xff\xfeA", "rows.csv", "The file is no text."),
        (b"\xff\xfea\0\n\0\0\xd8", "rows.csv", "The file is no text."),
        ("a,b\n", "rows.xlsx", "Name the format: csv, json or ndjson."),
    ],
)
def test_file__broken__says_where(tmp_path: Path, content: str | bytes, name: str, says: str) -> None:
    with pytest.raises(Unreadable) as error:
        read(tmp_path, content, name)
    assert str(error.value).startswith(says)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('[{"n": 1.50}, {"n": "é"}]', "rows.json"),
        ('{"fields": ["n"], "rows": [\n{"n": 1.50},\n{"n": "é"}\n], "more": {}}', "rows.json"),
        ('\ufeff{"n": 1.50}\n\n{"n": "é"}', "rows.ndjson"),
        ('{"n": 1.50}\r\n{"n": "\\u00e9"}\r\n', "rows.jsonl"),
    ],
)
def test_json__of_any_shape__has_its_records(tmp_path: Path, content: str, name: str) -> None:
    assert read(tmp_path, content, name) == [{"n": "1.50"}, {"n": "é"}]


def test_json__records_larger_than_a_part__are_whole(tmp_path: Path) -> None:
    records = [{"n": str(number), "text": "é" * 300_000} for number in range(5)]
    assert read(tmp_path, json.dumps(records), "rows.json") == records


@pytest.mark.parametrize("name", ["rows.json", "rows.ndjson"])
def test_json__escapes_that_no_encoding_has__are_cleaned(tmp_path: Path, name: str) -> None:
    record = r'{"a\u0000b": "\ud800", "c": {"\udfff": ["\u0000", 1.50, null]}}'
    found = read(tmp_path, f"[{record}]" if name == "rows.json" else record, name)
    assert found == [{"ab": "\ufffd", "c": {"\ufffd": ["", "1.50", None]}}]


@pytest.mark.parametrize(
    ("text", "formats", "zone", "expected"),
    [
        ("2024-01-31T09:30:00.123456Z", (), BERLIN, "2024-01-31T09:30:00.123Z"),
        ("2024-01-31T09:30:00+05:30", (), BERLIN, "2024-01-31T04:00:00.000Z"),
        ("2024-01-31 09:30:00", (), BERLIN, "2024-01-31T08:30:00.000Z"),
        ("2024-07-31 09:30", (), BERLIN, "2024-07-31T07:30:00.000Z"),
        ("2024-01-31 09:30:00 UTC", (), BERLIN, "2024-01-31T09:30:00.000Z"),
        ("2024-01-31", (), dt.UTC, "2024-01-31T00:00:00.000Z"),
        ("1706693400", (), BERLIN, "2024-01-31T09:30:00.000Z"),
        ("1706693400123", (), BERLIN, "2024-01-31T09:30:00.123Z"),
        ("Jan 31, 2024 09:30 PM", (), dt.UTC, "2024-01-31T21:30:00.000Z"),
        ("Wed, 31 Jan 2024 09:30:00 +0100", (), dt.UTC, "2024-01-31T08:30:00.000Z"),
        ("31.01.2024 09:30", ("%d.%m.%Y %H:%M",), BERLIN, "2024-01-31T08:30:00.000Z"),
        ("2023/01/31 9:30:00 PM GMT+1", PRESETS["google"].formats, dt.UTC, "2023-01-31T20:30:00.000Z"),
        ("2023/01/31 9:30:00 AM GMT-3:30", PRESETS["google"].formats, dt.UTC, "2023-01-31T13:00:00.000Z"),
    ],
)
def test_time__as_exports_write_it__is_read(
    text: str, formats: tuple[str, ...], zone: dt.tzinfo, expected: str
) -> None:
    assert format_time(read_time(text, formats, zone)) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("01/02/2024 09:30", "Say in which format this time is, such as %d.%m.%Y %H:%M: 01/02/2024 09:30"),
        ("31.02.24", "Say in which format"),
        ("yesterday", "This is no time: yesterday"),
        ("2024-02-30T00:00:00Z", "This is no time"),
        ("1" * 100, "This is no time"),
        ("0001-01-01T00:00:00+14:00", "This is no time"),
        ("9999-12-31T23:59:59-12:00", "This is no time"),
        ("1 1 2024", "This is no time"),
    ],
)
def test_time__that_is_none_or_two__is_refused(text: str, says: str) -> None:
    with pytest.raises(NoTime) as error:
        read_time(text, ("%d %d %Y", "%"), dt.UTC)
    assert str(error.value).startswith(says)


def test_zone__unknown__is_refused() -> None:
    for name in ("Nowhere/City", "../etc/passwd", ""):
        with pytest.raises(ValueError, match="time zone"):
            zone_named(name)


@pytest.mark.parametrize("value", ["=1+1", "+49 30 1", "a;=1", "'quoted'", "it's", "a\n-1", "plain"])
def test_fieldpost__cells_of_our_own_csv__are_as_they_were_stored(value: str) -> None:
    record = {"id": "sub_1", "createdAt": "2024-01-31T09:30:00.000Z", "text": safe_cell(value), "data.id": "7"}
    row = Columns(PRESETS["fieldpost"]).row({**record, "_more": '{"z": "1"}'})
    assert row == {
        "createdAt": "2024-01-31T09:30:00.000Z",
        "data": {"text": value, "id": "7", "z": "1"},
        "sourceId": "sub_1",
    }


def test_columns__renamed_and_left_out__are_so() -> None:
    columns = Columns(Preset(time=("at",), spam=("is spam",)), {"mail": "email", "x": ""})
    record = {"at": "2024-01-31", "mail": "a@b.example", "x": "1", "is spam": "Yes", "empty": "", "none": None}
    row = {"createdAt": "2024-01-31T00:00:00.000Z", "data": {"email": "a@b.example"}, "spam": True}
    assert columns.row(record) == row
    with pytest.raises(NoTime, match="There is no time"):
        columns.row({"mail": "a"})


def test_refused_rows__with_ten_problems__are_there_once() -> None:
    refused = RefusedRows()
    for number in range(10):
        refused.add(Problem(0, f"data.f{number}", "too_long", "Too long."), {"a": "x" * 70_000})
    refused.add(Problem(1, "", "invalid", "Must be an object."), {"a": "y"})
    assert sum(map(len, refused.lines)) < 75_000
    assert (refused.lines[0][:26], refused.lines[-1].rstrip()[-2:]) == ("1,data.f0,too_long,Too lon", ",y")


def test_columns__files_of_another_service__are_their_addresses() -> None:
    file = {"filename": "a.pdf", "size": 1, "url": "https://files.example/a.pdf"}
    columns = Columns(PRESETS["netlify"])
    row = columns.row({"created_at": "2024-01-31", "data": {"cv": file, "all": [file, "x"], "odd": {"url": 5}}})
    assert row["data"] == {"cv": file["url"], "all": [file["url"], "x"], "odd": {"url": 5}}
