"""The line on which each value of a JSON text is, for the problems of a document that somebody wrote."""

import json
import re

# A string, a mark of structure, or a number or a word. Each begins with another character, so nothing is tried twice:
# a string without an end is one, too.
_TOKENS = re.compile(r'"(?:[^"\\]|\\[\s\S])*+(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]++')


def lines_of(text: str) -> dict[str, int]:
    """Return the lines of a valid JSON text's values, counted from 1, by paths as in details: `fields.0.type`."""
    lines: dict[str, int] = {}
    path: list[str | int] = []  # of the value that comes next: a name or a position for each container around it
    line, end, before = 1, 0, ""
    for token in _TOKENS.finditer(text):
        line, end = line + text.count("\n", end, token.start()), token.start()
        mark = token[0]
        is_name = before in ("{", ",") and bool(path) and isinstance(path[-1], str)
        if mark in ("}", "]"):
            path.pop()
        elif mark == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else ""
        elif is_name:
            path[-1] = str(json.loads(mark))
        elif mark != ":":
            lines[".".join(map(str, path))] = line
            if mark in ("{", "["):
                path.append("" if mark == "{" else 0)
        before = mark
    return lines


def line_of(lines: dict[str, int], path: str) -> int | None:
    """Return the line of a value, or of the innermost container that should hold it; None for the whole text."""
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return lines[path] if path else None
