"""docs/security.md: every test that it names exists."""

import ast
import re

from tests.checks.sources import ROOT

PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def functions_of(path: str) -> set[str]:
    """Return the names of the test functions of a module; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text()) if file.is_file() else ast.Module(body=[], type_ignores=[])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_security_page__names_tests_that_exist() -> None:
    named = NAMED.findall(PAGE.read_text())
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []


def test_security_page__has_a_test_for_every_promise() -> None:
    """A row without one is a promise that nobody holds."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "| held by |" not in line]
    assert len(rows) > 30
    assert [row for row in rows if not NAMED.search(row)] == []
