"""`/dashboard/mails`: the mails of a laptop. Codes to log in are among them, so it needs no login."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.pages.laptop_mails.mailbox import KEPT, has_mailbox, kept_mails


@require_safe
@never_cache
def mails(request: HttpRequest) -> HttpResponse:
    """Show the newest mails. Raises Http404 unless mails are kept: only with DEMO and without a mail server."""
    if not has_mailbox():
        raise Http404
    template = "dashboard/parts/laptop_mails.html" if request.headers.get("HX-Request") else "dashboard/mails.html"
    return render(request, template, {"mails": kept_mails(), "most": KEPT})


urlpatterns = [path("mails", mails, name="mails")]
