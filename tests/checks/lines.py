"""
Refuse lines over 120 characters in templates, style sheets and scripts: `python -m tests.checks.lines [paths]`.

Formatters keep most of them shorter, but never split a word, a template tag or a comment. Python is ruff's (E501).
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.checks.sources import SCRIPTS, files, relative

MAX_LENGTH = 120  # characters
SUFFIXES = (".html", *SCRIPTS)


def is_bounded(path: Path) -> bool:
    """Return whether the bound holds for a file, by its name."""
    return path.suffix in SUFFIXES


def long_lines(path: Path, text: str) -> Iterator[str]:
    """Yield `path:line: length` for each line over the bound."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MAX_LENGTH:
            yield f"{relative(path)}:{number}: {len(line)} characters"


def main(arguments: list[str]) -> int:
    """Print every long line in the files below `arguments`; return 1 if there is one."""
    paths = [path for path in files([Path(argument) for argument in arguments]) if is_bounded(path)]
    found = [line for path in paths for line in long_lines(path, path.read_text())]
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print(f"{len(found)} lines over {MAX_LENGTH} characters; break them.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
