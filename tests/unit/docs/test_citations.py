"""The checker of citations: it finds those that lead nowhere, in code and in documents, and accepts the others."""

from pathlib import Path

import pytest

from tests.checks.citations import all_findings, findings, main, slug
from tests.checks.sources import ROOT

WRONG = [
    ("a.py", "# docs/contract.md 99", ["docs/contract.md has no 99"]),
    ("a.py", '"""See docs/contract.md 5.1 and 5.999."""', ["docs/contract.md has no 5.999"]),
    ("a.py", "# docs/contract.md, section 14", ["docs/contract.md has no 14"]),
    ("a.py", "# docs/decisions.md", ["there is no docs/decisions.md"]),
    ("a.py", "# docs/adr/0999", ["there is no docs/adr/0999"]),
    ("a.py", "# docs/adr/0002-of-another-name.md", ["docs/adr/0002-of-another-name"]),
    ("a.py", '# docs/running.md, "Walking"', ['docs/running.md has no heading "Walking"']),
    ("a.py", "# CONTRACT section 5", ["no reader has CONTRACT"]),
    ("a.html", "{# SPEC 7.3 #}", ["no reader has SPEC"]),
    ("a.js", "// RELIABILITY", ["no reader has RELIABILITY"]),
    ("docs/a.md", "[a](nowhere.md)", ["the link nowhere.md leads nowhere"]),
    ("docs/a.md", "[a](api.md#nowhere)", ["docs/api.md has no heading for #nowhere"]),
    ("docs/a.md", "see `config/nowhere.py`", ["there is no config/nowhere.py"]),
    ("docs/a.md", "As PRACTICES says.", ["no reader has PRACTICES"]),
]


@pytest.mark.parametrize(("name", "text", "problems"), WRONG)
def test_citation__that_leads_nowhere__is_found(name: str, text: str, problems: list[str]) -> None:
    found = {str(finding) for finding in findings(ROOT / name, f"\n{text}\n")}
    assert all(any(f"{name}:2: " in one and problem in one for one in found) for problem in problems), found


RIGHT = [
    ("a.py", '"""docs/contract.md 5, docs/contract.md 5.17 and 7.1; docs/contract.md, section 1."""'),
    ("a.py", '# docs/adr/0006, docs/adr/0006-idempotency-in-one-transaction.md, docs/running.md, "Environment"'),
    ("a.py", "CONTRACT = 5  # `SPEC` is a name"),
    (
        "docs/a.md",
        "[a](api.md#webhooks), [b](../README.md), [c](adr/), [d](https://example.com/x#y), `config/api/errors.py`",
    ),
]


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_citation__that_leads_somewhere__is_accepted(name: str, text: str) -> None:
    assert [str(finding) for finding in findings(ROOT / name, text)] == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("5. Submit and read", "5-submit-and-read"),
        ("`POST /api/forms` (201)", "post-apiforms-201"),
        ("Try it", "try-it"),
    ],
)
def test_slug__of_a_heading__is_the_anchor_of_github(heading: str, anchor: str) -> None:
    assert slug(heading) == anchor


def test_command__with_a_finding__says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("\n[a](b.md)\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path}/a.md:2: the link b.md leads nowhere\n"


@pytest.mark.slow
def test_citations__of_the_whole_project__lead_somewhere() -> None:
    assert [str(finding) for finding in all_findings()] == []
