"""A source file of a React app that sends with @formspree/react: what changes in it to send here."""

import re
from typing import Any

from fieldpost.cli.moving import Moved

PACKAGE = re.compile(r"""(["'])@formspree/react\1""", re.ASCII)
USE_FORM = re.compile(r"""(\buseForm(?:<[^<>()]{1,500}>)?\(\s*(["']))([\w-]+)(?=\2)""", re.ASCII)


def is_react_source(text: str) -> bool:
    return PACKAGE.search(text) is not None


def as_html(source: str) -> str:
    """Return JSX as a reader of HTML takes it: an arrow would end a tag. Positions stay."""
    return source.replace("=>", "= ")


def moved_of(source: str) -> Moved | None:
    """Return the form of the file, if it names one."""
    ids = {match[3] for match in USE_FORM.finditer(source)}
    return Moved("Formspree", id=ids.pop()) if len(ids) == 1 else None


def moved_source(source: str, address: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the source with our package and the whole address of the form, and the changes by line."""
    one_form = moved_of(source) is not None
    changed = PACKAGE.sub(r"\1@fieldpost/react\1", source)
    changed = USE_FORM.sub(lambda match: match[1] + address, changed) if one_form else changed
    lines = zip(source.split("\n"), changed.split("\n"), strict=True)
    return changed, [
        {"line": number, "before": before.strip(), "after": after.strip()}
        for number, (before, after) in enumerate(lines, 1)
        if before != after
    ]
