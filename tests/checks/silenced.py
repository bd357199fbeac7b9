"""
Refuse a silenced finding without its reason on the same line: `python -m tests.checks.silenced [paths]`.

The reason follows the codes of `noqa` or `type: ignore`, after `#` or `-`.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.checks.sources import files, relative

SILENCES = re.compile(r"#\s*(noqa|type:\s*ignore)\b")
WITH_REASON = re.compile(r"#\s*(noqa:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*|type:\s*ignore\[[\w, -]+\])\s*[#-]\s*\w.*")


def without_reason(path: Path, text: str) -> Iterator[str]:
    """Yield `path:line: comment` for each comment that silences a tool and does not say why."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (found := SILENCES.search(token.string)):
            comment = token.string[found.start() :]
            if not WITH_REASON.fullmatch(comment):
                yield f"{relative(path)}:{token.start[0]}: {comment}"


def main(arguments: list[str]) -> int:
    """Print every such comment in the Python files below `arguments`; return 1 if there is one."""
    paths = [path for path in files([Path(argument) for argument in arguments]) if path.suffix == ".py"]
    found = [line for path in paths for line in without_reason(path, path.read_text())]
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        print(f"{len(found)} silenced findings without codes or a reason; say why on the line.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
