"""`/docs`: the guides as pages and as Markdown, their search, and `/llms.txt`. Public, without session or database."""

import functools
from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.compression import compress
from config.api.ratelimit import PUBLIC_PAGES, refuse_bursts
from config.client_address import client_network
from config.pages.documents import public_document
from dashboard.guides.library import GROUPS, NAMES, page_of
from dashboard.guides.search import search, words_of

MARKDOWN = "text/markdown; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
MAX_SEARCHES = 200  # pages of results that a process keeps, of some 30 KB
FRESH = "no-cache"  # browsers ask with the ETag, so that an upgrade shows immediately


@require_safe
@public_document
def contents(_request: HttpRequest) -> HttpResponse:
    return _kept(_contents_html)


@require_safe
@public_document
def page(_request: HttpRequest, name: str) -> HttpResponse:
    """Show a guide. Raises Http404."""
    if name not in NAMES:
        raise Http404
    return _kept(_page_html, name)


@require_safe
@public_document
def source(_request: HttpRequest, name: str) -> HttpResponse:
    """Return a guide as Markdown. Raises Http404."""
    if name not in NAMES:
        raise Http404
    return _fresh(page_of(name).document.source, MARKDOWN)


@require_safe
@public_document
def llms_txt(_request: HttpRequest) -> HttpResponse:
    """Return the contents for language models (https://llmstxt.org)."""
    return _kept(_llms_text, content_type=TEXT)


@csrf_exempt
@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Show the sections that have every word of `q`. A limit of the address bounds the new words."""
    words = words_of(request.GET.get("q", ""))
    refusal = refuse_bursts(request, [("guides-search", client_network(request), PUBLIC_PAGES)])
    if refusal:
        page = _html("search", query=" ".join(words), refusal=refusal)
        return HttpResponse(page, status=refusal.status, headers=refusal.headers)
    found = _found_html.__wrapped__ if settings.DEBUG else _found_html
    response = HttpResponse(found(*words))
    compress(request, response)
    return response


def _fresh(content: str, content_type: str | None = None) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers={"Cache-Control": FRESH})


def _kept(make: Callable[..., str], *arguments: str, content_type: str | None = None) -> HttpResponse:
    """Answer with a text that is made once in a process; while DEBUG is on, each time."""
    text = make(*arguments) if settings.DEBUG else _once(make, *arguments)
    return _fresh(text, content_type)


@functools.cache
def _once(make: Callable[..., str], *arguments: str) -> str:
    return make(*arguments)


def _html(template: str, **context: object) -> str:
    """Return a page. Without the request, so that it is the same for everybody and uses no session."""
    return render_to_string(f"guides/{template}.html", {"groups": GROUPS, **context})


@functools.lru_cache(MAX_SEARCHES)
def _found_html(*words: str) -> str:
    query = " ".join(words)
    return _html("search", query=query, hits=search(query))


def _contents_html() -> str:
    return _html("contents")


def _page_html(name: str) -> str:
    return _html("page", page=page_of(name))


def _llms_text() -> str:
    lines = [
        "# Fieldpost",
        "",
        "> A form backend that you host yourself: it accepts submissions from any page or program, stores each before "
        "it answers 201, and sends signed webhooks and mails with retries.",
        "",
        f"The API is described by OpenAPI at {settings.PUBLIC_URL}/api/schema. Submit with `POST /api/submit` and the "
        "header `x-access-key`, or with a plain HTML form to `/f/{form id}`. Keys in pages must be publishable ones "
        "(`fp_pub_…`); never put a secret key into a page.",
    ]
    for group, guides in GROUPS.items():
        lines += ["", f"## {group}", ""]
        for guide in guides:
            address = settings.PUBLIC_URL + reverse("guides:source", args=[guide.name])
            lines.append(f"- [{guide.title}]({address}): {guide.summary}")
    return "\n".join(lines) + "\n"
