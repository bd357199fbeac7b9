"""
Where a visitor goes after a plain post, and back from the thank-you page. Pure (docs/contract.md 6).

`_next` of the page, or `_redirect` of a page made for another service, takes precedence over the form's own URL if it
is safe: relative to the page, of the page's own origin, or of an origin that the form allows. Anything else is ignored,
or this would be an open redirect.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urljoin, urlsplit

from django.utils.translation import gettext

from forms_app.models import Form
from forms_app.origins import is_allowed, origin_of

CONTROLS = ("_next", "_redirect")
ALIASES = ("redirect", "redirectTo")  # also data, so they count only if they look like a URL
_LOOKS_LIKE_ADDRESS = re.compile(r"https?://|/(?!/)", re.IGNORECASE)
_TRICKS = re.compile(r"[\\\x00-\x20\x7f]")  # browsers turn \ into / and drop controls
MAX_TARGET = 2048  # characters


def redirect_target(
    controls: Mapping[str, str], values: Mapping[str, str], *, page: str, allowed_origins: Sequence[str], default: str
) -> str:
    """
    Return the absolute URL to go to; "" for the thank-you page.

    `page`: the URL of the posting page as far as it is known (its Referer, or its origin; "" for unknown).
    """
    for target in _candidates(controls, values):
        absolute = _safe(target, page, allowed_origins)
        if absolute:
            return absolute
    return default


def _candidates(controls: Mapping[str, str], values: Mapping[str, str]) -> Iterator[str]:
    for name in CONTROLS:
        if controls.get(name):
            yield controls[name].strip()
    for name in ALIASES:
        target = values.get(name, "").strip()
        if _LOOKS_LIKE_ADDRESS.match(target):
            yield target


def _safe(target: str, page: str, allowed_origins: Sequence[str]) -> str:
    if not target or len(target) > MAX_TARGET or _TRICKS.search(target):
        return ""
    try:
        absolute = urljoin(page, target)
    except ValueError:
        return ""
    origin = origin_of(absolute)
    is_fine = bool(origin) and (origin == origin_of(page) or is_allowed(origin, allowed_origins))
    return absolute if is_fine else ""


def posting_page(*, origin: str | None, referer: str, own_page: str) -> str:
    """
    Return the URL of the page that posted: its Referer if that matches its Origin, else the Origin.

    A client that sends neither is not a browser; its relative URLs are relative to our own page. "" if a browser hides
    both (`Origin: null`).
    """
    if origin is None:
        return referer if origin_of(referer) else own_page
    if origin_of(referer) and origin_of(referer) == origin_of(origin):
        return referer
    return origin if origin_of(origin) else ""


def way_back(form: Form, referer: str) -> dict[str, str] | None:
    """
    Return `{url, label}`, the link back from the thank-you page; None if there is nowhere to go.

    It leads to the form's own URL for it, else to the page that posted: one of an origin that the form allows, or the
    form's hosted page. A Referer of any other page is ignored, as another site's `_next` is.
    """
    origin = origin_of(referer)
    is_own = bool(origin) and origin == origin_of(form.url)
    own_pages = tuple(f"/f/{segment}" for segment in (form.public_id, form.segment))
    if not form.return_url and is_own and urlsplit(referer).path.startswith(own_pages):
        return {"url": form.url, "label": gettext("Back to the form")}
    url = form.return_url or (referer if origin and is_allowed(origin, form.allowed_origins) else "")
    return {"url": url, "label": gettext("Back to %(host)s") % {"host": urlsplit(url).hostname}} if url else None
