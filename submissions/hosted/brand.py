"""
`/f/brand/`: logos and the style sheets of accents. Public, without cookies, and immutable: an address has a hash or
the whole content, so pages and mails may keep it.
"""

import re

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.errors import not_found
from keys.branding.colors import text_on
from keys.models import Logo

IMMUTABLE = "public, max-age=31536000, immutable"
_DIGITS = re.compile(r"[0-9a-f]{6}")


@csrf_exempt  # a POST answers 405 and is not asked for a token
@require_safe
def logo(_request: HttpRequest, name: str) -> HttpResponse:
    """Return the logo of this name; 404 for one that was replaced or removed."""
    png = Logo.objects.filter(name=name).values_list("png", flat=True).first()
    return not_found() if png is None else _immutable(bytes(png), "image/png")


@csrf_exempt  # likewise
@require_safe
def accent(_request: HttpRequest, digits: str) -> HttpResponse:
    """Return the style sheet of an accent; both modes have the same, because an accent is visible in both."""
    if not _DIGITS.fullmatch(digits):
        return not_found()
    color = f"#{digits}"
    sheet = f":root{{--accent:{color};--accent-strong:{color};--on-accent:{text_on(color)}}}\n"
    return _immutable(sheet.encode(), "text/css; charset=utf-8")


def _immutable(content: bytes, kind: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response.headers["Cache-Control"] = IMMUTABLE
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response
