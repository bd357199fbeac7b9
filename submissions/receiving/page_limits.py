"""Limits for browser submissions on top of the plan: the form's origins, and bursts (docs/contract.md 5)."""

import re
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from config.api import ratelimit
from config.api.errors import ApiError, OriginNotAllowed
from config.api.find_owned import path_id
from config.client_address import client_network
from config.ids import Prefix
from config.text import clean_text
from forms_app.field_definitions import MAX_FILES
from forms_app.field_kinds import kind_of
from forms_app.models import Form
from forms_app.origins import is_allowed, origin_of, parse_origin_pattern
from keys import tokens
from keys.authentication import META_NAME
from submissions.receiving.key_and_form import Owner, SubmitForm, find_key_and_form, submit_form_of
from submissions.receiving.parse_body import Post

HIDDEN = gettext_noop("This form does not take submissions from this page, which hides its address.")
_FORM_ID = re.compile(r"/(frm_[^/.]*)")  # in the path of a plain post


def refuse_page(request: HttpRequest, owner: Owner) -> ApiError | None:
    """
    Return why a browser submission is refused, or None. Counts it against the bursts if its origin is allowed.

    Submissions without a form of the owner share one burst.
    """
    is_secret = owner.key is not None and not owner.key.is_publishable
    refusal = _refuse_origin(request, owner.form, is_secret=is_secret) if owner.form else None
    return refusal or _refuse_bursts(request, str(owner.form.id if owner.form else owner.organization_id))


def refuse_upload(request: HttpRequest, form: SubmitForm) -> ApiError | None:
    """Return why a file sent by itself is refused, or None; as `refuse_page`, but counted against its own bursts."""
    refusal = _refuse_origin(request, form, is_secret=False)
    return refusal or ratelimit.refuse_bursts(request, _upload_limits(request, str(form.id)))


def is_allowed_page(request: HttpRequest, form: SubmitForm) -> bool:
    """Return whether the page that posts is one of the form's, or our own."""
    return _refuse_origin(request, form, is_secret=False) is None


def _refuse_origin(request: HttpRequest, form: SubmitForm, *, is_secret: bool) -> ApiError | None:
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
    return OriginNotAllowed.of_page(clean_text(origin)[:200])


def own_origins() -> list[str]:
    """Return the origins of the hosted pages: an error is shown where the post went."""
    ours = [url for url in (settings.PUBLIC_URL, settings.PAGES_URL) if url]
    return [origin_of(url) or parse_origin_pattern(url) for url in ours]


def _refuse_bursts(request: HttpRequest, form_id: str) -> ApiError | None:
    return ratelimit.refuse_bursts(request, _burst_limits(request, form_id))


def _burst_limits(request: HttpRequest, form_id: str) -> list[tuple[str, str, str]]:
    return [
        ("burst-address", f"{client_network(request)} {form_id}", settings.BURST_PER_ADDRESS_AND_FORM),
        ("burst-form", form_id, settings.BURST_PER_FORM),
    ]


def _upload_limits(request: HttpRequest, form_id: str) -> list[tuple[str, str, str]]:
    """Return the bursts of files by themselves: as many as the files of so many submissions."""
    limits = _burst_limits(request, form_id)
    return [(f"upload-{group}", value, _times(MAX_FILES, rate)) for group, value, rate in limits]


def _times(factor: int, rate: str) -> str:
    number, slash, period = rate.partition("/")
    return f"{factor * int(number)}{slash}{period}"


def may_wait_for_body(environ: dict[str, Any], is_large: bool = False) -> bool:
    """
    Return whether to wait for a body that comes slowly: not if the request will be refused whatever it says.

    That is so without a well-formed key, and at the addresses of forms over a burst limit. Counts nothing and reads no
    database, except before a large body is read (`is_large`): that needs a usable secret key, or a form that takes
    files now.
    """
    path = environ["PATH_INFO"]
    if path.startswith("/api/"):
        token = environ.get(META_NAME, "")
        return tokens.is_well_formed(token) and (not is_large or _may_upload(environ, token))
    named = _FORM_ID.search(path)
    if not named:
        return not path.startswith("/f/")  # which is then a 404
    try:
        form_id = str(path_id(Prefix.FORM, named[1]))
    except ApiError:
        return False  # 404
    request = HttpRequest()
    request.META = environ
    limits = _upload_limits if path.rstrip("/").endswith("/uploads") else _burst_limits
    if any(ratelimit.is_burst_used_up(request, *limit) for limit in limits(request, form_id)):
        return False
    return not is_large or _takes_files(request, form_id)


def _may_upload(environ: dict[str, Any], token: str) -> bool:
    """Return whether a key is secret, known and not revoked, and its organization may store more."""
    request = HttpRequest()
    request.META = environ
    try:
        owner = find_key_and_form(Post(request, tokens.digest(token)))
    except ApiError:
        return False  # 401
    is_secret = owner.key is not None and not owner.key.is_publishable  # a publishable one is in every page
    return is_secret and not (owner.is_suspended or owner.is_full)


def _takes_files(request: HttpRequest, form_id: str) -> bool:
    """Return whether a form has a File field, and nothing but its content would refuse a post to it."""
    form = Form.objects.select_related("organization").filter(pk=form_id).first()
    if form is None or form.status != Form.Status.PUBLISHED:
        return False
    organization = form.organization
    if form.is_unavailable or organization.is_full or not is_allowed_page(request, submit_form_of(form)):
        return False
    return any(kind_of(field["type"]).takes_files for field in form.fields)
