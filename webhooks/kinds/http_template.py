"""
The template of an HTTP destination: JSON that is parsed first and filled afterwards, so it cannot be broken by a value.

Placeholders are in strings only: `{{ data.name }}`, `{{ form.name }}`, `{{ submission.id }}`,
`{{ submission.createdAt }}`, each with `| default: "…"` and `| truncate: 80` if wanted. This is no language: there are
no conditions, loops, calls or look-ups beyond these names.
"""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from django.utils.translation import gettext

from config.base.text import clean_text
from forms_app.texts.placeholders import (
    CLOSING,
    OPENING,
    TemplateRefused,
    cut,
    fill_text,
    placeholders_in,
)
from webhooks.kinds.submitted import Submitted

MOST_CHARACTERS = 16_384  # of the template
MOST_DEPTH = 16
MOST_PLACEHOLDERS = 200
MOST_FILLED = 256 * 1024  # characters that values may add in all


def parse_template(given: Any) -> Any:
    """
    Return the template as a JSON value, checked and cleaned. `given`: its JSON as a text, or an object or a list.

    Raises TemplateRefused.
    """
    if isinstance(given, str):
        template = _parse(given)
    elif isinstance(given, dict | list):
        template = given
    else:
        raise TemplateRefused("invalid_template", gettext("The template must be JSON: an object, a list or a text."))
    if _depth(template) > MOST_DEPTH:
        text = gettext("The template is nested too deep: at most %(most)s levels.") % {"most": MOST_DEPTH}
        raise TemplateRefused("template_too_deep", text)
    # As escapes JSON can hold what UTF-8 cannot.
    template = _changed(template, clean_text, clean_text)
    if len(json.dumps(template, ensure_ascii=False)) > MOST_CHARACTERS:
        raise _too_long()
    names = list(names_in(template))
    if len(names) > MOST_PLACEHOLDERS:
        text = gettext("The template has too many placeholders: at most %(most)s.") % {"most": MOST_PLACEHOLDERS}
        raise TemplateRefused("template_too_long", text)
    return template


def _parse(text: str) -> Any:
    if len(text) > MOST_CHARACTERS:
        raise _too_long()
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        message = gettext("The template is not valid JSON. Put placeholders inside strings.")
        raise TemplateRefused("invalid_template", message) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _changed(value: Any, text: Callable[[str], str], name: Callable[[str], str] = str) -> Any:
    """Return a JSON value with other texts, and with other names of members."""
    if isinstance(value, dict):
        return {name(key): _changed(inner, text, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_changed(inner, text, name) for inner in value]
    return text(value) if isinstance(value, str) else value


def _too_long() -> TemplateRefused:
    text = gettext("The template is too long: at most %(most)s characters.") % {"most": MOST_CHARACTERS}
    return TemplateRefused("template_too_long", text)


def _depth(value: Any) -> int:
    """Return the levels of lists and objects, without recursion: a request's JSON has its own bound."""
    deepest, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        deepest += 1
        if deepest > MOST_DEPTH:
            break
        level = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
    return deepest


def names_in(template: Any) -> Iterator[str]:
    """Yield the name of each placeholder. Raises TemplateRefused for anything else between double braces."""
    if isinstance(template, dict):
        for key, value in template.items():
            if OPENING in key or CLOSING in key:
                text = gettext("The member “%(name)s”: placeholders belong in values, not in names.")
                raise TemplateRefused("invalid_placeholder", text % {"name": cut(key, 60)})
            yield from names_in(value)
    elif isinstance(template, list):
        for value in template:
            yield from names_in(value)
    elif isinstance(template, str):
        yield from placeholders_in(template)


def fill(template: Any, submitted: Submitted) -> Any:
    """Return the template with its placeholders filled. Values are text, stay inside their strings, and are bounded."""
    values = {
        "form.name": submitted.form_name,
        "submission.id": submitted.id,
        "submission.createdAt": submitted.created_at,
    } | {f"data.{name}": value for name, value in submitted.data.items()}
    room = MOST_FILLED

    def left_of(text: str) -> str:
        nonlocal room
        text = text[:room]
        room -= len(text)
        return text

    return _changed(template, lambda text: fill_text(text, lambda name: str(values.get(name) or ""), left=left_of))
