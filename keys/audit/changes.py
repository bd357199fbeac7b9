"""Old and new values for the audit trail: only the differing ones, short, and never a secret."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_noop

from config.base.text import clean_text

MAX_VALUE = 200  # characters of a text, or of the JSON of a list
MAX_CHANGES = 50  # values of one event
MORE = "…"
SECRET, ANOTHER_SECRET = gettext_noop("(secret)"), gettext_noop("(another secret)")
SECRETS = {"secret", "previous_secret", "captcha_secret", "password", "token", "config"}
Changes = dict[str, list[Any]]  # `{name: [old, new]}`


def values_of(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """
    Return `{name: [old, new]}` of the values that differ; missing ones are None.

    A mapping inside counts by its members, as `name.member`. Of a secret it says only whether there is one.
    """
    old, new = dict(_flat(before)), dict(_flat(after))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return listed([(name, old.get(name), new.get(name)) for name in names])


def listed(found: Sequence[tuple[str, Any, Any]]) -> Changes:
    """Return `{name: [old, new]}` of names with their differing values, as far as the trail keeps them."""
    kept = {name: _pair(name, old, new) for name, old, new in found[:MAX_CHANGES]}
    return kept | ({MORE: [None, f"{len(found) - MAX_CHANGES} more"]} if len(found) > MAX_CHANGES else {})


def shown(value: Any) -> Any:
    """Return a stored value as the screen shows it: the words in place of a secret in the reader's language."""
    return gettext(value) if value in (SECRET, ANOTHER_SECRET) else value


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{member}", inner) for member, inner in value.items())
        else:
            yield name, value


def _pair(name: str, old: Any, new: Any) -> list[Any]:
    if name.rpartition(".")[2] in SECRETS:
        return [SECRET if old else None, (ANOTHER_SECRET if old else SECRET) if new else None]
    return [_short(old), _short(new)]


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = clean_text(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) > MAX_VALUE:
        return text[:MAX_VALUE] + MORE
    return str(text) if isinstance(value, str) else json.loads(text)
