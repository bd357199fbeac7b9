"""The page of a refusal, which keeps the values that were sent and offers to send them again."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html

from config.api.errors import RateLimited
from dashboard.pages.receivers.inputs import PREFIX
from webhooks.kinds.registry import KINDS

TOKEN = "csrfmiddlewaretoken"  # noqa: S105 - the name of an input
# Names of inputs that are asked for again: a secret is in no more pages than it must.
_SECRETS = {f"{PREFIX}-{each.name}" for kind in KINDS.values() for each in kind.inputs if each.is_secret}
_WORDS = ("password", "secret")


def too_many(request: HttpRequest, refusal: RateLimited) -> HttpResponse:
    """Return the 429: a page, or for a script of the page a note above the fragment that it would replace."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        note = format_html('<div class="notice error" role="alert"><p>{}</p></div>', refusal.message)
        response = HttpResponse(note, status=refusal.status, headers={"HX-Reswap": "beforebegin"})
    else:
        response = render(request, "429.html", {"reason": refusal.message, **_typed(request)}, status=refusal.status)
    for name, value in refusal.headers.items():
        response.headers[name] = value
    return response


def _typed(request: HttpRequest) -> dict[str, object]:
    """Return the values of a form for hidden inputs, and the names of those that are entered again."""
    sent = [(name, value) for name, values in request.POST.lists() if name != TOKEN for value in values]
    return {
        "is_post": request.method == "POST",
        "kept": [(name, value) for name, value in sent if not _is_secret(name)],
        "secrets": sorted({name for name, value in sent if value and _is_secret(name)}),
        "files": sorted(request.FILES),
    }


def _is_secret(name: str) -> bool:
    return name in _SECRETS or any(word in name for word in _WORDS)
