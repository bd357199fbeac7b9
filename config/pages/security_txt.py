"""`/.well-known/security.txt`: where to report a vulnerability of this installation (RFC 9116)."""

import datetime as dt

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from config.base.times import now

PATH = ".well-known/security.txt"
VALID_FOR = dt.timedelta(days=180)  # RFC 9116 recommends less than a year


@require_safe
def security_txt(_request: HttpRequest) -> HttpResponse:
    """Return the file, or 404 while SECURITY_CONTACT is not set."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = (now() + VALID_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        f"Canonical: {settings.PUBLIC_URL}/{PATH}",
        "Preferred-Languages: en",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")
