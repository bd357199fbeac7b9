"""`/f/brand/`: logos. Public, without cookies, and immutable: an address has a hash, so pages and mails may keep it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.errors import not_found
from forms_app.models import FormLogo
from keys.models import Logo

IMMUTABLE = "public, max-age=31536000, immutable"


@csrf_exempt  # a POST answers 405 and is not asked for a token
@require_safe
def logo(_request: HttpRequest, name: str) -> HttpResponse:
    """Return the logo of this name; 404 for one that was replaced or removed."""
    # The same picture may be the logo of several: one that remains keeps the address.
    found = (logos.objects.filter(name=name).values_list("png", flat=True).first() for logos in (Logo, FormLogo))
    png = next((png for png in found if png is not None), None)
    if png is None:
        return not_found()
    response = HttpResponse(bytes(png), content_type="image/png")
    response.headers["Cache-Control"] = IMMUTABLE
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response
