"""Finds the form of an address below `/f/`: by its id, or by its own address, present or former."""

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from config.api.errors import ApiError
from config.api.find_owned import path_id
from config.base.ids import Prefix
from forms_app.addresses import form_at
from forms_app.models import Form


class SeeOther(HttpResponseRedirect):
    """A redirect that is followed with GET (RFC 9110, 15.4.4)."""

    status_code = 303


def find_form(form_id: str) -> Form | None:
    """Return the form with this public id or address, with its organization; None if there is none."""
    if not form_id.startswith(f"{Prefix.FORM}_"):
        return form_at(form_id)
    try:
        pk = path_id(Prefix.FORM, form_id)
    except ApiError:
        return None
    return Form.objects.select_related("organization").filter(pk=pk).first()


def new_address(request: HttpRequest, form: Form | None, form_id: str, page: str) -> SeeOther | None:
    """Return the redirect to a page of a form, if `form_id` is an address that it has given up."""
    if form is None or form_id in (form.public_id, form.address):
        return None
    query = request.META.get("QUERY_STRING", "")
    return SeeOther(reverse(page, args=[form.segment]) + (f"?{query}" if query else ""))
