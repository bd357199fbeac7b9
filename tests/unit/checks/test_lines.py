"""The bound on lines: it holds for templates, style sheets and scripts, and names the line that is too long."""

from pathlib import Path

import pytest

from tests.checks.lines import main


@pytest.mark.parametrize("name", ["a.html", "a.css", "a.js"])
def test_lines__over_120_characters__are_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(f"{'é' * 120}\n{'x' * 121}\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path / name}:2: 121 characters\n"


def test_lines__of_python_and_text__are_not_bounded_here(tmp_path: Path) -> None:
    for name in ("a.py", "a.md", "a.txt"):
        (tmp_path / name).write_text("x" * 121)
    assert main([str(tmp_path)]) == 0


def test_lines__of_the_project__are_short() -> None:
    assert main([]) == 0
