"""The word checker: it finds refused words in everything that people read, and accepts code and good English."""

from pathlib import Path

import pytest

from tests.checks.prose import prose_of
from tests.checks.sources import ROOT, files
from tests.checks.words import STYLE, entries, findings, main

TABLE = entries(STYLE.read_text())


def found(name: str, text: str) -> list[tuple[int, str]]:
    """Return the line and the word of each finding, in a file of that name."""
    return sorted((finding.line, finding.word) for finding in findings(ROOT / name, text, TABLE))


REFUSED = [
    ("a.py", '"""Return what is owed to it."""\n', [(1, "owed"), (1, "what is owed")]),
    ("a.py", "x = 1  # what\ny = 2  # was sent\n", [(1, "what was sent")]),
    ("a.py", 'raise Conflict("Mend the field.")\n', [(1, "Mend")]),
    ("a.py", 'label = "Mend"\n', [(1, "Mend")]),
    ("a.py", 'text = f"{name} is told"\n', [(1, "told")]),
    ("a.py", 'def f():\n    """\n    What a page may do."""\n', [(2, "What")]),
    ("a.py", 'class A:\n    """Tell whether."""\n', [(2, "Tell whether")]),
    ("a.html", "<p>\n{% if told %}Begin anew{% endif %}</p>", [(2, "anew")]),
    ("a.html", '<th scope="col">Made</th>', [(1, "Made")]),
    ("a.html", '<input placeholder="Least seconds">', [(1, "Least seconds")]),
    ("a.html", '{% include "a.html" with title="Mend it" %}', [(1, "Mend")]),
    ("a.html", "{# it stands here #}", [(1, "stands")]),
    ("a.txt", "Log in at once.\n", [(1, "at once")]),
    ("a.js", 'const told = 1; // anew\nsay("It is away");', [(1, "anew"), (2, "is away")]),
    ("a.css", "/* beside it */ .told { color: red }", [(1, "beside")]),
    ("a.md", "One `told` and\nwhoever.\n", [(2, "whoever")]),
    ("a.toml", 'told = "x" # for good\n', [(1, "for good")]),
]


@pytest.mark.parametrize(("name", "text", "words"), REFUSED)
def test_words__that_the_table_refuses__are_found_where_people_read_them(
    name: str, text: str, words: list[tuple[int, str]]
) -> None:
    assert [(line, word.lower()) for line, word in found(name, text)] == [(line, word.lower()) for line, word in words]


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


# Phrases that made readers stumble, as they were found in the screens and the source.
STILTED = [
    "what is owed", "who has submitted", "what was received", "Tell whether it is", "mends", "anew", "told to nobody",
    "the API tells when", "beside the plan", "it stands here", "It hears of the submissions", "whose it is", "lately",
    "delete for good", "every look", "Redis is away", "owners alone", "whoever asks", "Least seconds", "Most links",
    "begins anew", "What came of it", "a file of its own", "a trial mail", "at once", "End it…", "we neither",
    "Alike ones of an hour stand together", "Nobody can bring it back", "The whole trick", "look into the spam folder",
    "good for 10 minutes", "takes what names no form", "The count starts again", "Nothing like this",
]  # fmt: skip


@pytest.mark.parametrize("phrase", STILTED)
def test_words__of_a_stilted_phrase__are_refused(phrase: str) -> None:
    assert found("a.md", f"The rest, {phrase}, and so on.\n") != []


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


def test_table__as_it_is__is_large_and_says_in_each_row_what_to_write_instead() -> None:
    assert len(TABLE) >= 60
    assert [entry.pattern.pattern for entry in TABLE if not entry.say] == []
    assert [entry.pattern.pattern for entry in TABLE if entry.pattern.search("")] == []


def test_files__of_other_people_and_migrations__are_not_read() -> None:
    read = {str(path.relative_to(ROOT)) for path in files()}
    assert {"docs/style.md", "README.md", "Makefile", "config/settings.py", "templates/errors/500.html"} <= read
    assert [path for path in read if "/migrations/" in path or "/vendor/" in path or "/builds/" in path] == []


def test_command__with_a_finding__says_where_and_what(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("Fine.\n\nStart anew.\n")
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f'{tmp_path}/a.md:3: "anew" -> say "again')
    (tmp_path / "a.md").write_text("Fine.\n")
    assert (main([str(tmp_path)]), capsys.readouterr().out) == (0, "")
