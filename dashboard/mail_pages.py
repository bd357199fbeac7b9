"""
The pages of links in mails: confirming an address, stopping a form's mails, marking spam. Each has one button, and a
GET does nothing: programs that look for malware follow every link.

The link is the whole authority, so there is no login and no CSRF token: a mail program stops the mails by one POST
without either (RFC 8058). https://www.rfc-editor.org/rfc/rfc8058
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from forms_app.consent.recipients import (
    LinkInvalid,
    confirm,
    find_question,
    find_subscription,
    resume,
    stop,
)
from submissions.lifecycle.spam_links import find_marking
from submissions.lifecycle.spam_marks import mark_spam
from webhooks.mails.recipients import shown_form_name, shown_organization_name


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that confirms an address; the POST confirms it."""
    found = find_question(token)
    if found is None:
        return _private(render(request, "mails/gone.html", status=404))
    is_done = request.method == "POST"
    if is_done:
        confirm(found)
    context = {
        "address": found.email,
        "form_name": shown_form_name(found.form),
        "organization_name": shown_organization_name(found.form),
        "is_done": is_done,
    }
    return _private(render(request, "mails/confirm.html", context))


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def stop_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that stops a form's mails; the POST stops them, and another one starts them again."""
    try:
        found = find_subscription(token)
    except LinkInvalid:
        return _private(render(request, "mails/gone.html", status=404))
    if request.method == "POST" and request.POST.get("action") == "resume":
        resume(found)
    elif request.method == "POST":
        stop(found)
    context = {
        "address": found.email,
        "form_name": found.form.name,
        "is_stopped": found.is_stopped,
        "is_resumed": request.POST.get("action") == "resume",
    }
    return _private(render(request, "mails/stop.html", context))


@never_cache
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def spam_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that marks a submission as spam; the POST marks it."""
    try:
        found = find_marking(token)
    except LinkInvalid:
        return _private(render(request, "mails/gone.html", status=404))
    submission = found.submission
    if request.method == "POST" and not submission.spam:
        submission = mark_spam(submission)
    context = {
        "submission": submission,
        "form_name": found.submission.form.name,
        "organization_name": found.submission.form.organization.name,
    }
    return _private(render(request, "mails/spam.html", context))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep the address of the page, which is a key, out of search engines and of the Referer header."""
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex"
    return response
