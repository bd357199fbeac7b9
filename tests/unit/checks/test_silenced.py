"""A silenced finding has its codes and its reason on its line."""

from pathlib import Path

import pytest

from tests.checks.silenced import main


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E402",
        "# noqa",
        "# noqa: E402  #",
        "# noqa - after setup",
        "# type: ignore",
        "# type: ignore[misc]",
        "# type: ignore  # the stubs",
        "# of a test  # noqa: S101",
    ],
)
def test_silenced__without_codes_or_a_reason__is_named(
    comment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text(f"import a\nimport b  {comment}\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'a.py'}:2: #")


@pytest.mark.parametrize(
    "line",
    [
        "import a  # noqa: E402 - after setup",
        "import a  # noqa: E402, S101  # after setup",
        "a = b  # type: ignore[misc, call-arg]  # the stubs do not know it",
        'a = "# noqa"',
    ],
)
def test_silenced__with_a_reason__passes(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"{line}\n")
    assert main([str(tmp_path)]) == 0


@pytest.mark.slow
def test_silenced__in_the_project__have_their_reasons() -> None:
    assert main([]) == 0
