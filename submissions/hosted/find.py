"""Finds the form of an address below `/f/`."""

from config.api.errors import ApiError
from config.api.find_owned import path_id
from config.base.ids import Prefix
from forms_app.models import Form


def find_form(form_id: str) -> Form | None:
    """Return the form with this public id, with its organization; None if there is none."""
    try:
        pk = path_id(Prefix.FORM, form_id)
    except ApiError:
        return None
    return Form.objects.select_related("organization").filter(pk=pk).first()
