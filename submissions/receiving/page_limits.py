"""What holds for submissions from pages beside the plan: the form's origins, and burst limits (CONTRACT section 5)."""

import uuid

from django.conf import settings
from django.http import HttpRequest

from config.api import ratelimit
from config.api.errors import ApiError, OriginNotAllowed
from config.client_address import client_network
from config.text import clean_text
from forms_app.origins import is_allowed, origin_of, parse_origin_pattern
from submissions.receiving.key_and_form import FoundForm


def refuse_page(
    request: HttpRequest, form: FoundForm | None, *, organization_id: uuid.UUID, secret_key: bool
) -> ApiError | None:
    """
    Return why a page's submission is refused, or None. Counts it against the bursts when its origin is right.

    `form` is None when the page names no form of the key's organization: such requests share one burst.
    """
    refusal = _refuse_origin(request, form, secret_key=secret_key) if form else None
    return refusal or _refuse_burst(request, str(form.id if form else organization_id))


def _refuse_origin(request: HttpRequest, form: FoundForm, *, secret_key: bool) -> ApiError | None:
    if not form.allowed_origins:
        return None
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    if origin in ("", "null") and secret_key:
        return None
    if is_allowed(origin, [*form.allowed_origins, own_origin()]):
        return None
    shown = clean_text(origin)[:200] or "none"
    return OriginNotAllowed(
        f"This form does not take submissions from this origin: {shown}. Add it to the form's list."
    )


def own_origin() -> str:
    """Return the origin of our own hosted pages."""
    return origin_of(settings.PUBLIC_URL) or parse_origin_pattern(settings.PUBLIC_URL)


def _refuse_burst(request: HttpRequest, form_id: str) -> ApiError | None:
    by_address = f"{client_network(request)} {form_id}"
    for group, value, rate in (
        ("burst-address", by_address, settings.BURST_PER_ADDRESS_AND_FORM),
        ("burst-form", form_id, settings.BURST_PER_FORM),
    ):
        usage = ratelimit.count_burst(request, group, value, rate)
        if usage.is_over:
            return usage.refusal()
    return None
