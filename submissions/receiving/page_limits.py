"""Limits for browser submissions on top of the plan: the form's origins, and bursts (docs/contract.md 5)."""

from django.conf import settings
from django.http import HttpRequest

from config.api import ratelimit
from config.api.errors import ApiError, OriginNotAllowed
from config.client_address import client_network
from config.text import clean_text
from forms_app.origins import is_allowed, origin_of, parse_origin_pattern
from submissions.receiving.key_and_form import Owner, SubmitForm


def refuse_page(request: HttpRequest, owner: Owner) -> ApiError | None:
    """
    Return why a browser submission is refused, or None. Counts it against the bursts if its origin is allowed.

    Submissions without a form of the owner share one burst.
    """
    is_secret = owner.key is not None and not owner.key.is_publishable
    refusal = _refuse_origin(request, owner.form, is_secret=is_secret) if owner.form else None
    return refusal or _refuse_bursts(request, str(owner.form.id if owner.form else owner.organization_id))


def _refuse_origin(request: HttpRequest, form: SubmitForm, *, is_secret: bool) -> ApiError | None:
    if not form.allowed_origins:
        return None
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    if origin in ("", "null") and is_secret:
        return None
    if is_allowed(origin, [*form.allowed_origins, own_origin()]):
        return None
    shown = clean_text(origin)[:200] or "none"
    return OriginNotAllowed(
        f"This form does not take submissions from this origin: {shown}. Add it to the form's list."
    )


def own_origin() -> str:
    """Return the origin of the hosted pages."""
    return origin_of(settings.PUBLIC_URL) or parse_origin_pattern(settings.PUBLIC_URL)


def _refuse_bursts(request: HttpRequest, form_id: str) -> ApiError | None:
    limits = [
        ("burst-address", f"{client_network(request)} {form_id}", settings.BURST_PER_ADDRESS_AND_FORM),
        ("burst-form", form_id, settings.BURST_PER_FORM),
    ]
    return ratelimit.refuse_bursts(request, limits)
