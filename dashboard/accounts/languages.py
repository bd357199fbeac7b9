"""
The language of pages: the one that the person chose, else the one that their browser asks for.

The API, plain posts and the guides know no session and no language of a person: what they answer is English, but for
hosted pages, which speak the language of their form.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from config.pages.addresses import LOCALIZED
from keys.models import User


class LanguageMiddleware:
    """Runs pages in the language of their reader, and says so in Content-Language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(LOCALIZED):  # such as the API, forms.js, a file: none depends on a reader
            return self.get_response(request)
        chosen = language_of(request.user)
        language = chosen or translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        if not chosen:
            patch_vary_headers(response, ["Accept-Language"])
        return response


def language_of(user: Any) -> str:
    """Return the language that a person chose, or an empty string: nobody, no choice, or one that is gone."""
    language = str(getattr(user, "language", ""))
    return language if language in dict(settings.LANGUAGES) else ""


def choose_language(user: User, language: str) -> None:
    """Store a person's language; empty for the browser's."""
    user.language = language
    user.save(update_fields=["language"])


def language_now() -> str:
    return translation.get_language() or settings.LANGUAGE_CODE
