"""
Placeholders in texts that an owner writes: `{{ data.name }}`, `{{ form.name }}`, `{{ submission.id }}` and
`{{ submission.createdAt }}`, each with `| default: "…"` and `| truncate: 80` if wanted.

This is no language: there are no conditions, loops, calls or look-ups beyond these names.
"""

import re
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches

from django.utils.translation import gettext

MOST_TRUNCATE = 10_000
NAMES = ("form.name", "submission.id", "submission.createdAt")
DATA = "data."
OPENING, CLOSING = "{{", "}}"
SHOWN = 60  # characters of a wrong text in its error
CUT = "…"
_PLACEHOLDER = re.compile(r"\{\{((?:[^{}\"]|\"[^\"]*\")*)\}\}")
_FILTER = re.compile(r"\s*\|\s*(?:default:\s*\"([^\"]*)\"|truncate:\s*(\d{1,5}))")
_NAME = re.compile(r"\s*(data\.[^|{}\"]+|form\.name|submission\.(?:id|createdAt))")


class TemplateRefused(ValueError):
    """A template that cannot be used: `code` for programs, the text for its owner."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def placeholders_in(text: str, declared: Collection[str] = ()) -> Iterator[str]:
    """
    Yield the name of each placeholder. Raises TemplateRefused for anything else between double braces.

    `declared`: the names of a form's fields, for the advice in the error.
    """
    rest = _PLACEHOLDER.sub("", text)
    if OPENING in rest or CLOSING in rest:
        raise _unknown(text)
    for found in _PLACEHOLDER.finditer(text):
        yield _read(found[1], declared)[0]


def refuse_undeclared_names(names: Collection[str], declared: Collection[str]) -> None:
    """Raise TemplateRefused for a name of `data` that the form does not declare, if it declares any."""
    for name in names:
        field = name.removeprefix(DATA)
        if declared and name.startswith(DATA) and field not in declared:
            text = gettext("The form has no field “%(name)s”.") % {"name": cut(field, SHOWN)}
            raise TemplateRefused("unknown_name", f"{text} {_advice(field, declared)}".rstrip())


def fill_text(text: str, value_of: Callable[[str], str], *, left: Callable[[str], str] = str) -> str:
    """
    Return a text with its placeholders filled. `value_of`: returns the value of a name, "" for none.

    `left`: returns the part of a filled-in value for which there is room.
    """

    def fill_one(found: re.Match[str]) -> str:
        name, default, length = _read(found[1])
        value = value_of(name) or default
        return left(value if length is None else cut(value, length))

    return _PLACEHOLDER.sub(fill_one, text)


def _read(inner: str, declared: Collection[str] = ()) -> tuple[str, str, int | None]:
    """Return name, default and length of a placeholder. Raises TemplateRefused."""
    named = _NAME.match(inner)
    name = named[1].rstrip() if named is not None else ""
    if named is None or name == DATA:
        raise _unknown(inner, declared)
    position, default, length = named.end(), "", None
    while found := _FILTER.match(inner, position):
        if found[2] is not None:
            length = int(found[2])
        else:
            default = found[1]
        position = found.end()
    if inner[position:].strip() or (length is not None and not 1 <= length <= MOST_TRUNCATE):
        raise _unknown(inner, declared)
    return name, default, length


def _unknown(text: str, declared: Collection[str] = ()) -> TemplateRefused:
    shown = cut(text.strip(), SHOWN)
    if advice := _advice(text, declared):
        message = gettext("“%(text)s” is no placeholder.") % {"text": shown}
        return TemplateRefused("invalid_placeholder", f"{message} {advice}")
    message = gettext(
        "“%(text)s” is no placeholder. Use data.<name>, form.name, submission.id or submission.createdAt, "
        'with | default: "…" and | truncate: 80.'
    )
    return TemplateRefused("invalid_placeholder", message % {"text": shown})


def _advice(text: str, declared: Collection[str]) -> str:
    """Return a question for the placeholder that resembles a wrong one; "" if none does."""
    known = {name.casefold(): DATA + name for name in declared if _NAME.fullmatch(DATA + name)}
    typed = text.partition("|")[0].strip().removeprefix(DATA).casefold()[:SHOWN]
    close = get_close_matches(typed, known, n=1)
    return gettext("Did you mean %(placeholder)s?") % {"placeholder": f"{{{{ {known[close[0]]} }}}}"} if close else ""


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + CUT
