"""Limits for browser submissions on top of the plan: the form's origins, and bursts (docs/contract.md 5)."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from config.api import ratelimit
from config.api.errors import ApiError, OriginNotAllowed
from config.base.client_address import client_network
from config.base.text import clean_text
from forms_app.field_definitions import MAX_FILES
from forms_app.models import Form
from forms_app.origins import is_allowed, origin_of, parse_origin_pattern
from submissions.receiving.key_and_form import Owner

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})  # allowed pages of test submissions, on any port
TEST_BURSTS = 10  # times as many in test mode, counted apart
HIDDEN = gettext_noop("This form does not take submissions from this page, which hides its address.")


def refuse_page(request: HttpRequest, owner: Owner) -> ApiError | None:
    """
    Return why a browser submission is refused, or None. Counts it against the bursts if its origin is allowed.

    Submissions without a form of the owner share one burst.
    """
    is_secret = owner.key is not None and not owner.key.is_publishable
    refusal = _refuse_origin(request, owner.form, is_secret=is_secret) if owner.form else None
    if refusal and owner.is_test and _is_loopback(request):
        refusal = None
    shared = owner.form.pk if owner.form else owner.organization.pk
    bursts = _bursts(request, str(shared))
    return refusal or ratelimit.refuse_bursts(request, _more(bursts, "test", TEST_BURSTS) if owner.is_test else bursts)


def refuse_upload(request: HttpRequest, form: Form, *, is_test: bool) -> ApiError | None:
    """
    Return why a file sent by itself is refused, or None; as `refuse_page`, but counted against its own bursts: as many
    as the files of so many submissions.
    """
    refusal = None if is_test and _is_loopback(request) else _refuse_origin(request, form, is_secret=False)
    return refusal or ratelimit.refuse_bursts(request, _more(_bursts(request, str(form.pk)), "upload", MAX_FILES))


def is_allowed_page(request: HttpRequest, form: Form) -> bool:
    """Return whether the page that posts is one of the form's, or our own."""
    return _refuse_origin(request, form, is_secret=False) is None


def _refuse_origin(request: HttpRequest, form: Form, *, is_secret: bool) -> ApiError | None:
    if not form.allowed_origins:
        return None
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    if origin in ("", "null") and is_secret:
        return None
    if is_allowed(origin, [*form.allowed_origins, *own_origins()]):
        return None
    if origin in ("", "null"):
        return OriginNotAllowed(HIDDEN)
    return OriginNotAllowed(page=clean_text(origin)[:200])


def _is_loopback(request: HttpRequest) -> bool:
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def own_origins() -> list[str]:
    """Return the origins of the hosted pages: an error is shown where the post went."""
    ours = [url for url in (settings.PUBLIC_URL, settings.PAGES_URL) if url]
    return [origin_of(url) or parse_origin_pattern(url) for url in ours]


def _more(limits: list[tuple[str, str, str]], group: str, times: int) -> list[tuple[str, str, str]]:
    """Return limits that are counted apart from these, and are so many times as high."""
    return [
        (f"{group}-{name}", value, f"{times * int(number)}/{period}")
        for name, value, rate in limits
        for number, _, period in [rate.partition("/")]
    ]


def _bursts(request: HttpRequest, form_id: str) -> list[tuple[str, str, str]]:
    return [
        ("burst-address", f"{client_network(request)} {form_id}", settings.BURST_PER_ADDRESS_AND_FORM),
        ("burst-form", form_id, settings.BURST_PER_FORM),
    ]
