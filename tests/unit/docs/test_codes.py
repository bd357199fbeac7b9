"""The tables of error codes in docs/contract.md, compared with the codes in the source."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from config.api.errors import ApiError
from tests.checks.sources import ROOT

CONTRACT = ROOT / "docs" / "contract.md"
APPS = ("config", "keys", "forms_app", "submissions", "webhooks")
CODE = re.compile(r"[a-z]+(_[a-z0-9]+)*")

# Of the frameworks' fields that we use: they are not written in our source.
FRAMEWORK_CODES = {
    "blank", "empty", "invalid", "invalid_choice", "max_length", "max_value", "min_length", "min_value",
    "not_a_list", "null", "null_characters_not_allowed", "required",
}  # fmt: skip
SECOND_ARGUMENT = {"invalid", "Detail", "ErrorDetail"}  # called with a field (or a message), then the code
FIRST_ARGUMENT = {"UrlRefused", "_refusal"}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Yield the syntax tree of every module below the dashboard."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, ast.parse(path.read_text())


def called(node: ast.Call) -> str:
    """Return the name of the called function, without its module."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def codes_of_call(node: ast.Call) -> Iterator[ast.expr]:
    """Yield the arguments of a call that are codes of a detail."""
    name = called(node)
    if name in SECOND_ARGUMENT and len(node.args) > 1:
        yield node.args[1]
    if name in FIRST_ARGUMENT and node.args:
        yield node.args[0]
    if name == "ValidationError":
        yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")


def detail_codes(tree: ast.Module) -> set[str]:
    """Return the codes of details that a module writes out, and every string that begins with `invalid_`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found |= {code.value for code in codes_of_call(node) if isinstance(code, ast.Constant)}
        elif isinstance(node, ast.Assign) and any(getattr(one, "id", "") == "unknown_code" for one in node.targets):
            found |= {node.value.value} if isinstance(node.value, ast.Constant) else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("invalid_"):
            found.add(node.value)
    return {str(code) for code in found if CODE.fullmatch(str(code))}


def subclasses(base: type[ApiError]) -> Iterator[type[ApiError]]:
    """Yield every subclass that has been imported; `config.urls` imports all that answer a request."""
    importlib.import_module("config.urls")
    for one in base.__subclasses__():
        yield one
        yield from subclasses(one)


def documented(heading: str, column: int) -> set[str]:
    """Return the codes in a column of the table whose header has `heading` in its first two columns."""
    found: set[str] = set()
    rows = iter(CONTRACT.read_text().splitlines())
    for row in rows:
        if row.startswith("|") and heading in "|".join(row.split("|")[1:3]):
            next(rows)  # the rule below the header
            for line in rows:
                if not line.startswith("|"):
                    return found
                found |= set(re.findall(r"`([^`]+)`", line.split("|")[column]))
    raise AssertionError(f"docs/contract.md has no table headed {heading}")


def attempt_errors() -> set[str]:
    """Return the codes in backticks of the paragraph about the log."""
    paragraph = CONTRACT.read_text().partition("**7.12")[2].partition("\n\n")[0]
    return set(re.findall(r"`([a-z_]+)`", paragraph))


ELSEWHERE = {"invalid_token", "invalid_grant"}  # docs/contract.md 8.10 and 3.16


def test_errors__every_one_of_the_api__is_in_the_table_with_its_status() -> None:
    raised = {(str(one.status), one.code) for one in subclasses(ApiError)}
    rows = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", CONTRACT.read_text(), re.MULTILINE)
    assert set(rows) == raised
    assert len(rows) == len(set(rows))


def test_detail_codes__written_in_the_source__are_in_the_table_and_none_is_invented() -> None:
    details, errors = documented("`details[].code`", 1), documented("`error`", 2)
    written = set().union(*(detail_codes(tree) for _, tree in trees()))
    assert written - details - errors - attempt_errors() - ELSEWHERE == set()
    constants = {
        node.value for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant)
    }  # a table of the source may hold a code, too
    assert details - constants - FRAMEWORK_CODES == set()


def test_detail_codes__of_a_module__are_found_in_every_way_that_they_are_written() -> None:
    source = """
raise invalid("a", "one", "A.")
yield Detail("a", code="no", message="A.") if x else Detail("a", "two", "A.")
raise serializers.ValidationError({"a": ["A."]}, code="three")
raise UrlRefused("four", "A.")
unknown_code = "five"
CHECKS = {"Email": ("invalid_six", "A.", check)}
"""
    assert detail_codes(ast.parse(source.replace("yield ", ""))) == {
        "one",
        "two",
        "three",
        "four",
        "five",
        "invalid_six",
    }


def test_codes_of_formspree__on_our_side__are_codes_of_ours() -> None:
    ours = documented("ours", 1)
    assert ours <= documented("`details[].code`", 1) | documented("`error`", 2)
