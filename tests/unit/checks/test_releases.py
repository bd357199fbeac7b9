"""The commit of the last release, in a repository with a history."""

from pathlib import Path

import pytest

from tests.support.releases import git, last_release

AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def commit(root: Path, version: str, text: str) -> str:
    """Commit a version and a text, and return the commit."""
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "code.py").write_text(text)
    git(root, "add", ".")
    git(root, *AUTHOR, "commit", "--quiet", "--message", text)
    return git(root, "rev-parse", "HEAD").decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_last_release__is_head_until_the_next_version_begins(repository: Path) -> None:
    """Fixes after the number was written belong to the release."""
    commit(repository, "0.1.0", "one")
    commit(repository, "0.2.0", "two")
    fixed = commit(repository, "0.2.0", "fixed")
    assert last_release(repository) == fixed
    commit(repository, "0.3.0.dev0", "three")
    commit(repository, "0.3.0.dev0", "four")
    assert last_release(repository) == fixed


def test_last_release__without_one_in_the_history__says_what_to_fetch(repository: Path) -> None:
    """As in a shallow clone."""
    commit(repository, "0.3.0.dev0", "three")
    with pytest.raises(AssertionError, match="unshallow"):
        last_release(repository)
