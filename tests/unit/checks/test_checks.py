"""The checks of `make check`, and what keeps the tests themselves together: suites, ports, locks, the last release."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checks import lines, silenced, words
from tests.checks.prose import prose_of
from tests.checks.sources import ROOT, files
from tests.checks.words import STYLE, entries, findings
from tests.services.processes import free_port
from tests.suites import SUITES
from tests.support.migrations.releases import git, last_release

FEW = 20
PRINTED = f"from tests.services.processes import free_port; print(*(free_port() for _ in range({FEW})))"
LOCKS = sorted([*(ROOT / "requirements").glob("*.txt"), *(ROOT / "requirements").rglob("package-lock.json")])
ADDRESS = re.compile(r"\w+://\S+|--(?:extra-)?index-url|\bgit\+\S+")
AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
TABLE = entries(STYLE.read_text())


def test_tests__in_any_folder__are_in_a_suite() -> None:
    taken = {path for suite in SUITES for each in suite.directories for path in (ROOT / each).rglob("test_*.py")}
    left_out = set((ROOT / "tests").rglob("test_*.py")) - taken
    assert {str(path.relative_to(ROOT)) for path in left_out} == set()


def test_free_port__of_several_processes__is_given_once() -> None:
    others = [subprocess.run([sys.executable, "-c", PRINTED], cwd=ROOT, capture_output=True, check=True) for _ in "ab"]
    given = [[free_port() for _ in range(FEW)], *(list(map(int, one.stdout.split())) for one in others)]
    assert all(len(set(ports)) == FEW for ports in given)
    assert not set(given[0]) & {*given[1], *given[2]}, "this process has given its own, and its servers may not run yet"


@pytest.mark.parametrize("lock", LOCKS, ids=[lock.name for lock in LOCKS])
def test_lock__has_no_address(lock: Path) -> None:
    assert ADDRESS.findall(lock.read_text()) == []


def test_locks__of_python_and_node__are_found() -> None:
    assert [lock.name for lock in LOCKS] == ["dev.txt", "package-lock.json", "run.txt"]


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


@pytest.mark.parametrize("name", ["a.html", "a.css", "a.js"])
def test_lines__over_120_characters__are_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text(f"{'é' * 120}\n{'x' * 121}\n")
    assert lines.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out == f"{tmp_path / name}:2: 121 characters\n"


def test_lines__of_python_and_text__are_not_bounded_here(tmp_path: Path) -> None:
    for name in ("a.py", "a.md", "a.txt"):
        (tmp_path / name).write_text("x" * 121)
    assert lines.main([str(tmp_path)]) == 0


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
    assert silenced.main([str(tmp_path)]) == 1
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
    assert silenced.main([str(tmp_path)]) == 0


def found(name: str, text: str) -> list[tuple[int, str]]:
    """Return the line and the word of each finding, in a file of that name."""
    return sorted((finding.line, finding.word) for finding in findings(ROOT / name, text, TABLE))


REFUSED = [
    ("a.py", '"""Return what is owed to it."""\n', [(1, "owed")]),
    ("a.py", "x = 1  # once\ny = 2  # more\n", [(1, "once more")]),
    ("a.py", 'raise Conflict("Mend the field.")\n', [(1, "Mend")]),
    ("a.py", 'label = "Mend"\n', [(1, "Mend")]),
    ("a.py", 'text = f"{name} is told"\n', [(1, "told")]),
    ("a.py", 'def f():\n    """\n    What a page may do."""\n', [(2, "What")]),
    ("a.py", 'class A:\n    """Tells it."""\n', [(2, "Tells")]),
    ("a.html", "<p>\n{% if told %}Begin anew{% endif %}</p>", [(2, "anew")]),
    ("a.html", '<input placeholder="Owed seconds">', [(1, "Owed")]),
    ("a.html", '{% include "a.html" with title="Mend it" %}', [(1, "Mend")]),
    ("a.html", "{# it stands here #}", [(1, "stands")]),
    ("a.txt", "Log in at once.\n", [(1, "at once")]),
    ("a.js", 'const told = 1; // anew\nsay("It is told");', [(1, "anew"), (2, "told")]),
    ("a.css", "/* beside it */ .told { color: red }", [(1, "beside")]),
    ("a.md", "One `told` and\nwhoever.\n", [(2, "whoever")]),
    ("a.toml", 'told = "x" # for good\n', [(1, "for good")]),
]


@pytest.mark.parametrize(("name", "text", "refused"), REFUSED)
def test_words__that_the_table_refuses__are_found_where_people_read_them(
    name: str, text: str, refused: list[tuple[int, str]]
) -> None:
    assert [(line, word.lower()) for line, word in found(name, text)] == [
        (line, word.lower()) for line, word in refused
    ]


FINE = [
    ("a.py", 'told = {"told": owed.alone}  # `told` is a name\n'),
    ("a.py", '"""P50 stands for the median. Return whether it was stored; a standalone stand-in for Redis."""\n'),
    ("a.py", 'query = b"told"; url = "https://example.com/told/at once"\n'),
    ("a.py", '"""Ask the user. For a good reason, at most 50 links; at least 3 seconds. What is wrong is said."""\n'),
    ("a.html", '<p class="told beside">{{ told }}{% if alone %}Created{% endif %}</p>'),
    ("a.html", "<script>const told = alone;</script><p>A person may do this. Made by hand.</p>"),
    ("a.js", "const beside = told ? alone : owed; // it looks like this\nconst a = /told|at once/;"),
    ("a.css", ".anew { --told: 1 }"),
    ("a.md", "The `told` column. The right-hand side is removed; a throw-away account.\n"),
    ("a.md", "What a form is, who may read it, and whether it was sent.\n"),
]


@pytest.mark.parametrize(("name", "text"), FINE)
def test_words__in_names_and_good_english__are_not_refused(name: str, text: str) -> None:
    assert found(name, text) == []


def test_exception__without_the_word_or_a_reason__does_not_count() -> None:
    line = "# the column owed of the bank"
    assert found("a.py", f"{line}  # words: allow owed because the bank calls it so\n") == []
    assert found("a.py", f"# words: allow owed because the bank calls it so\n{line}\n") == []
    assert len(found("a.py", f"{line}  # words: allow owed\n")) == 2
    assert len(found("a.py", f"{line}  # words: allow anew because of the bank\n")) == 1


def test_prose__of_any_text__keeps_its_lines() -> None:
    text = "a = 1\f\n\n# one\nb = '''two\nthree'''\n"
    assert prose_of(Path("a.py"), text).split("\n")[2].strip() == "one"
    assert prose_of(Path("a.py"), text).count("\n") == text.count("\n")


def test_table__as_it_is__says_in_each_row_what_to_write_instead() -> None:
    assert len(TABLE) >= 20
    assert [entry.pattern.pattern for entry in TABLE if not entry.say] == []
    assert [entry.pattern.pattern for entry in TABLE if entry.pattern.search("")] == []


def test_files__of_other_people_and_migrations__are_not_read() -> None:
    read = {str(path.relative_to(ROOT)) for path in files()}
    assert {"docs/style.md", "README.md", "Makefile", "config/settings.py", "templates/errors/500.html"} <= read
    assert [path for path in read if "/migrations/" in path or "/vendor/" in path or "/builds/" in path] == []


def test_command__with_a_finding__says_where_and_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("Fine.\n\nStart anew.\n")
    assert words.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f'{tmp_path}/a.md:3: "anew" -> say "again')
    (tmp_path / "a.md").write_text("Fine.\n")
    assert (words.main([str(tmp_path)]), capsys.readouterr().out) == (0, "")
