"""The columns that a user chose for the list of a form, in `User.preferences`."""

from collections.abc import Sequence

from django.db import transaction

from config.base.text import clean_text
from forms_app.models import Form
from keys.models import User

COLUMNS = "columns"
MAX_CHOSEN = 20  # of a form
MAX_NAME = 200  # characters; the column of a longer name is not remembered
MAX_FORMS = 100  # of a user; the choices for older forms are forgotten


def chosen_columns(user: User, form: Form | None) -> list[str] | None:
    """Return the names that a user chose, in their order; None without a choice."""
    if form is None:
        return None
    found: dict[str, list[str]] = user.preferences.get(COLUMNS, {})
    return found.get(form.public_id)


def choose_columns(user: User, form: Form, names: Sequence[str] | None) -> None:
    """Store a user's choice for a form; None forgets it."""
    with transaction.atomic():
        locked = User.objects.select_for_update().get(pk=user.pk)
        chosen: dict[str, list[str]] = dict(locked.preferences.get(COLUMNS, {}))
        chosen.pop(form.public_id, None)
        others = sorted(chosen)[1 - MAX_FORMS :]  # ids are in the order of creation
        chosen = {public_id: chosen[public_id] for public_id in others}
        if names is not None:
            short = (name for name in dict.fromkeys(map(clean_text, names)) if len(name) <= MAX_NAME)
            chosen[form.public_id] = list(short)[:MAX_CHOSEN]
        locked.preferences = {**locked.preferences, COLUMNS: chosen}
        locked.save(update_fields=["preferences"])


def moved(names: Sequence[str], name: str, step: int) -> list[str]:
    """Return the names with one of them moved by a step; unchanged at an end, or without it."""
    found = list(names)
    if name in found:
        place = found.index(name)
        found.insert(max(0, place + step), found.pop(place))
    return found
