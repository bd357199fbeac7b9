"""
The pages of links in mails: confirming an address, stopping a form's mails, marking spam. Each has one button, and a
GET does nothing: programs that look for malware follow every link.

The link is the whole authority, so there is no login and no CSRF token: a mail program stops the mails by one POST
without either (RFC 8058). https://www.rfc-editor.org/rfc/rfc8058
"""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from forms_app.consent.recipients import LinkInvalid, confirm, find_question, find_subscription, resume, stop
from submissions.lifecycle.spam_links import find_marking
from submissions.lifecycle.spam_marks import mark_spam
from webhooks.mails.recipients import shown_form_name, shown_organization_name

View = Callable[[HttpRequest, str], HttpResponse]


def page_of_a_link(view: View) -> View:
    """Answer LinkInvalid with a 404, and keep the address, which is a key, out of search engines and of Referer."""

    @never_cache
    @csrf_exempt
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def page(request: HttpRequest, token: str) -> HttpResponse:
        try:
            response = view(request, token)
        except LinkInvalid:
            response = render(request, "mails/gone.html", status=404)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return page


@page_of_a_link
def confirm_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that confirms an address; the POST confirms it."""
    found = find_question(token)
    if found is None:
        raise LinkInvalid
    is_done = request.method == "POST"
    if is_done:
        confirm(found)
    context = {
        "address": found.email,
        "form_name": shown_form_name(found.form),
        "organization_name": shown_organization_name(found.form),
        "is_done": is_done,
    }
    return render(request, "mails/confirm.html", context)


@page_of_a_link
def stop_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that stops a form's mails; the POST stops them, and another one starts them again."""
    found = find_subscription(token)
    if request.method == "POST" and request.POST.get("action") == "resume":
        resume(found)
    elif request.method == "POST":
        stop(found)
    context = {
        "address": found.email,
        "form_name": found.form.name,
        "is_stopped": found.stopped_at is not None,
        "is_resumed": request.POST.get("action") == "resume",
    }
    return render(request, "mails/stop.html", context)


@page_of_a_link
def spam_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that marks a submission as spam; the POST marks it."""
    submission = find_marking(token)
    form = submission.form
    if request.method == "POST" and not submission.spam:
        submission = mark_spam(submission)
    context = {"submission": submission, "form_name": form.name, "organization_name": form.organization.name}
    return render(request, "mails/spam.html", context)


urlpatterns = [
    path("confirm/<str:token>", confirm_page, name="mail-confirm"),
    path("spam/<str:token>", spam_page, name="mail-spam"),
    path("stop/<str:token>", stop_page, name="mail-stop"),
]
