"""The language of pages for visitors, who have no account: their browser's."""

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header


def visitors_language(request: HttpRequest) -> str:
    """Return the language of ours that the browser asks for first; English without one. Reads no cookie."""
    for wanted, _ in parse_accept_lang_header(request.META.get("HTTP_ACCEPT_LANGUAGE", "")):
        if wanted == "*":
            break
        try:
            return get_supported_language_variant(wanted)
        except LookupError:
            continue
    return str(settings.LANGUAGE_CODE)
