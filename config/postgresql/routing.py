"""Which database an object is read from and written to, where a replica is among them."""

from typing import Any

from django.db import connections


class PrimaryRouter:
    """
    Writes go to the primary, also of objects that a snapshot has loaded: Django would write where they come from.

    What belongs to such an object is read in the same snapshot while that lasts, then from the primary.
    """

    def db_for_read(self, _model: Any, instance: Any = None, **_hints: Any) -> str:
        """Return the alias of the snapshot that an object comes from while it is open, else `default`."""
        alias = instance._state.db if instance is not None else None
        return alias if alias and connections[alias].in_atomic_block else "default"

    def db_for_write(self, _model: Any, **_hints: Any) -> str:
        """Return `default`."""
        return "default"

    def allow_relation(self, _one: Any, _other: Any, **_hints: Any) -> bool:
        """Return True: every alias has the same rows."""
        return True
