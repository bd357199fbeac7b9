"""Old and new values of the audit trail, its list of actions, and how long it is kept."""

import ast
import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.base.times import now
from keys.audit import record_event
from keys.audit.accounts import RECORDED
from keys.audit.action_names import ACTIONS, KIND_OF, Kind
from keys.audit.changes import MAX_CHANGES, changes
from keys.audit.reading import purge_audit_trail
from keys.models import AuditEvent

ROOT = Path(__file__).resolve().parents[3]
LOOKS_LIKE_ONE = re.compile(r"[a-z_]+\.[a-z_]+")
ROOMS = ("keys", "forms_app", "submissions", "webhooks", "dashboard")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": [2, 3]}),
        ({}, {"a": None, "b": ""}, {"b": [None, ""]}),
        ({"a": ["x"]}, {}, {"a": [["x"], None]}),
        ({"s": {"x": 1, "y": 2}}, {"s": {"x": 1, "y": 5, "z": 0}}, {"s.y": [2, 5], "s.z": [None, 0]}),
        ({"a": "x" * 300}, {"a": "y"}, {"a": ["x" * 200 + "…", "y"]}),
        ({}, {"a": ["x" * 300]}, {"a": [None, '["' + "x" * 198 + "…"]}),
        ({}, {"day": dt.date(2026, 1, 31)}, {"day": [None, "2026-01-31"]}),
        ({"secret": ""}, {"secret": "hushhush"}, {"secret": [None, "(secret)"]}),
        (
            {"s": {"captcha_secret": "a"}},
            {"s": {"captcha_secret": "b"}},
            {"s.captcha_secret": ["(secret)", "(another secret)"]},
        ),
        ({"token": "a"}, {"token": None}, {"token": ["(secret)", None]}),
    ],
)
def test_changes__two_states__hold_what_differs(before: Any, after: Any, expected: Any) -> None:
    assert changes(before, after) == expected


def test_changes__too_many__say_how_many_more() -> None:
    found = changes({}, {str(number): number for number in range(MAX_CHANGES + 5)})
    assert len(found) == MAX_CHANGES + 1
    assert found["…"] == [None, "5 more"]


MAY_RECORD = re.compile(r"\b(?:action|_note|_record)\b")  # parsing the other files takes half a second


def recorded_actions() -> Iterator[str]:
    """Yield each text of the source that is passed as `action=`, or to a function `_note` or `_record`."""
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if MAY_RECORD.search(text) else ():
            passed = [node.value] if isinstance(node, ast.keyword) and node.arg == "action" else []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_note", "_record"):
                passed = node.args[1:]
            texts = [one.value for part in passed for one in ast.walk(part) if isinstance(one, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str) and LOOKS_LIKE_ONE.fullmatch(text))


def test_actions__recorded_in_the_source__are_in_the_list() -> None:
    recorded = {*recorded_actions(), *RECORDED.values()}
    assert "key.created" in recorded
    assert recorded - set(KIND_OF) == set()


def test_actions__of_the_list__have_one_row_each_and_every_kind_some() -> None:
    assert len(KIND_OF) == sum(map(len, ACTIONS.values()))
    assert all(ACTIONS[kind] for kind in Kind.values)


@pytest.mark.django_db
def test_trail__after_its_retention__is_deleted(settings: Any) -> None:
    settings.AUDIT_RETENTION_DAYS = 10
    old, new = (record_event(organization=None, by=None, action="plan.changed", subject=text) for text in "ab")
    AuditEvent.objects.filter(pk=old.pk).update(created_at=now() - dt.timedelta(days=10, seconds=1))
    AuditEvent.objects.filter(pk=new.pk).update(created_at=now() - dt.timedelta(days=9, hours=23))

    assert purge_audit_trail() == 1
    assert list(AuditEvent.objects.filter(action="plan.changed")) == [new]
