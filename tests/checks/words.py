"""
Refuse words that docs/style.md replaces: `python -m tests.checks.words [paths]`.

The table of docs/style.md is the only list. Where a word is right, its line or the one before says
`words: allow WORD because REASON`; several words are separated by commas.
"""

import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.checks.prose import prose_of
from tests.checks.sources import ROOT, files, relative

STYLE = ROOT / "docs" / "style.md"
EXAMPLES = ROOT / "tests" / "unit" / "checks" / "test_checks.py"  # refused words are its data
ROW = re.compile(r"^\|(?P<refused>[^\n]*?)(?<!\\)\|(?P<say>[^\n]*?)(?<!\\)\|", re.MULTILINE)
IN_BACKTICKS = re.compile(r"`([^`]+)`")
ALLOWED = re.compile(r"words: allow (?P<words>.+?) because (?P<reason>\S.*)")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table: what it refuses, and what to say instead."""

    pattern: re.Pattern[str]
    say: str


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A refused word in a file."""

    path: str
    line: int
    word: str
    say: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: "{self.word}" -> say "{self.say}"'


def entries(text: str) -> list[Entry]:
    """Return the rows of the table in the text of docs/style.md. Raises re.error for a wrong pattern."""
    table = text[text.index("\n## Words") :]
    found = []
    for row in ROW.finditer(table):
        patterns = [pattern.replace(r"\|", "|") for pattern in IN_BACKTICKS.findall(row["refused"])]
        if patterns:
            either = "|".join(f"(?:{pattern})" for pattern in patterns).replace(" ", r"\s+")
            found.append(Entry(re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE), row["say"].strip()))
    return found


def _is_allowed(word: str, lines: list[str], number: int) -> bool:
    """Return whether the line, or the one before, allows the word and gives a reason."""
    for line in lines[max(0, number - 2) : number]:
        allowed = ALLOWED.search(line)
        if allowed and word.lower() in [one.strip().lower() for one in allowed["words"].split(",")]:
            return True
    return False


def findings(path: Path, text: str, table: list[Entry]) -> Iterator[Finding]:
    """Yield the refused words of one file, in the order of the table."""
    prose = prose_of(path, text)
    lines = text.split("\n")
    for entry in table:
        for match in entry.pattern.finditer(prose):
            number = prose.count("\n", 0, match.start()) + 1
            word = " ".join(match[0].split())
            if not _is_allowed(word, lines, number):
                yield Finding(relative(path), number, word, entry.say)


def main(arguments: list[str]) -> int:
    """Print every finding in the files below `arguments`; return 1 if there is one."""
    table = entries(STYLE.read_text())
    found = [
        finding
        for path in files([Path(argument) for argument in arguments])
        if path not in (STYLE, EXAMPLES)
        for finding in sorted(findings(path, path.read_text(), table), key=lambda found: found.line)
    ]
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print(f"{len(found)} words to replace; docs/style.md says why.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
