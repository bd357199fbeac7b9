"""The differences between two documents of a form, for a dry run and for the audit trail (docs/contract.md 4.17)."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from config.secrets.hints import Hint

FIELDS = "fields"


class Difference(NamedTuple):
    """`path`: as in the details of errors, but a field goes by its name: `fields.phone.label`."""

    path: str
    old: Any
    new: Any


def differences(before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[Difference]:
    """
    Yield what differs, in the order of the members; a value is None where a document lacks it.

    A list is one difference, but fields go by name: one each that is added or removed, one for a member that changed.
    """
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if not path and name == FIELDS:
            yield from _of_fields(old or [], new or [])
        elif isinstance(old, Mapping) and isinstance(new, Mapping) and not isinstance(old, Hint):
            yield from differences(old, new, f"{path}{name}.")
        else:
            yield Difference(f"{path}{name}", old, new)


def _of_fields(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Difference]:
    old, new = ({field["name"]: field for field in fields} for fields in (before, after))
    for name in {**old, **new}:
        if name in old and name in new:
            yield from differences(old[name], new[name], f"{FIELDS}.{name}.")
        else:
            yield Difference(f"{FIELDS}.{name}", old.get(name), new.get(name))
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield Difference(FIELDS, list(old), list(new))
