"""`/demo/`: a page like that of a customer, next to its submissions. Only with DEBUG or DEMO=1."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.demo import FORM_NAME, NAME, ensure_demo
from forms_app import snippets
from forms_app.models import Form
from keys.models import Organization
from submissions.models import Submission

SHOWN = 10
POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
View = Callable[[HttpRequest], HttpResponse]


def only_in_demo(view: View) -> View:
    """Return 404 except on a development machine (fieldpost.E004 and E008 refuse public addresses)."""

    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        if not (settings.DEBUG or settings.DEMO):
            raise Http404
        response = view(request)
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["Cache-Control"] = "no-store"
        return response

    return guarded


@require_safe
@only_in_demo
def demo_page(request: HttpRequest) -> HttpResponse:
    """Show two forms, their script tag, and the newest submissions."""
    if _organization() is None:
        ensure_demo()
    forms = Form.objects.filter(organization=_organization(), status=Form.Status.PUBLISHED).order_by("id")
    contact, inbox = forms.filter(name=FORM_NAME, is_default=False).first(), forms.get(is_default=True)
    key = snippets.publishable_key(inbox.organization)
    context = {"contact": contact or inbox, "inbox": inbox, "key": key, "submissions": _latest()}
    context["tag"] = snippets.script_tag(contact or inbox, key)
    return render(request, "demo/page.html", context)


@require_safe
@only_in_demo
def latest(request: HttpRequest) -> HttpResponse:
    """Show the newest submissions, as the fragment that the page polls."""
    return render(request, "demo/latest.html", {"submissions": _latest()})


def _organization() -> Organization | None:
    return Organization.objects.filter(slug=NAME.lower()).first()


def _latest() -> list[Submission]:
    rows = Submission.objects.filter(organization=_organization()).of_mode(test=False)
    return list(rows.select_related("form").order_by("-id")[:SHOWN])


urlpatterns = [path("", demo_page, name="demo"), path("latest", latest, name="demo-latest")]
