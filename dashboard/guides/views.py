"""`/docs`: the guides as pages and as Markdown, their search, and `/llms.txt`. Public, without session or database."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from config.api.compression import compress
from config.api.ratelimit import PUBLIC_PAGES, refuse_bursts
from config.base.client_address import client_network
from config.pages.documents import public_document
from dashboard.guides.library import GROUPS, GUIDES, Guide
from dashboard.guides.search import search, words_of

MARKDOWN = "text/markdown; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
FRESH = "no-cache"  # browsers ask with the ETag, so that an upgrade shows immediately


@require_safe
@public_document
def contents(_request: HttpRequest) -> HttpResponse:
    return _fresh(_html("contents"))


@require_safe
@public_document
def page(_request: HttpRequest, name: str) -> HttpResponse:
    """Show a guide between its neighbors in the reading order. Raises Http404."""
    guide, around = _find(name), [None, *GUIDES.values(), None]
    place = around.index(guide)
    return _fresh(_html("page", guide=guide, before=around[place - 1], after=around[place + 1]))


@require_safe
@public_document
def source(_request: HttpRequest, name: str) -> HttpResponse:
    """Return a guide as Markdown. Raises Http404."""
    return _fresh(_find(name).document.source, MARKDOWN)


@csrf_exempt
@require_safe
def find(request: HttpRequest) -> HttpResponse:
    """Show the sections that have every word of `q`. A limit of the address bounds the searches."""
    query = " ".join(words_of(request.GET.get("q", "")))
    refusal = refuse_bursts(request, [("guides-search", client_network(request), PUBLIC_PAGES)])
    if refusal:
        page = _html("search", query=query, refusal=refusal)
        return HttpResponse(page, status=refusal.status, headers=refusal.headers)
    response = HttpResponse(_html("search", query=query, hits=search(query)))
    compress(request, response)
    return response


def _find(name: str) -> Guide:
    if name not in GUIDES:
        raise Http404
    return GUIDES[name]


def _fresh(content: str, content_type: str | None = None) -> HttpResponse:
    return HttpResponse(content, content_type=content_type, headers={"Cache-Control": FRESH})


def _html(template: str, **context: object) -> str:
    """Return a page. Without the request, so that it is the same for everybody and uses no session."""
    return render_to_string(f"guides/{template}.html", {"groups": GROUPS, **context})


@require_safe
@public_document
def llms_txt(_request: HttpRequest) -> HttpResponse:
    """Return the contents for language models (https://llmstxt.org)."""
    lines = [
        "# Fieldpost",
        "",
        "> A self-hosted form backend: it accepts submissions from any page or program, stores each before "
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
    return _fresh("\n".join(lines) + "\n", TEXT)
