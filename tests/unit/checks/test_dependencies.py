"""Locks name packages, versions and hashes, and no address: a mirror may serve them (CONTRIBUTING.md)."""

import re
from pathlib import Path

import pytest

from tests.checks.sources import ROOT

LOCKS = sorted([*(ROOT / "requirements").glob("*.txt"), *(ROOT / "requirements").rglob("package-lock.json")])
ADDRESS = re.compile(r"\w+://\S+|--(?:extra-)?index-url|\bgit\+\S+")


@pytest.mark.parametrize("lock", LOCKS, ids=[lock.name for lock in LOCKS])
def test_lock__has_no_address(lock: Path) -> None:
    assert ADDRESS.findall(lock.read_text()) == []


def test_locks__of_python_and_node__are_found() -> None:
    assert [lock.name for lock in LOCKS] == ["dev.txt", "package-lock.json", "run.txt"]
