"""
The pages of links in mails to submitters: confirming a submission, and ending the mails of an organization.

Each has one button, and a GET does nothing: programs that look for malware follow every link. The link is the whole
authority, so there is no login, no cookie and no CSRF token: a mail program ends the mails by one POST without either
(RFC 8058). https://www.rfc-editor.org/rfc/rfc8058
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation import get_language_from_request, gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from config.base.client_address import client_address
from config.base.text import SHOWN_OF_A_NAME, name_for_strangers
from forms_app.consent.opt_outs import Link, find_link, opt_in, opt_out
from forms_app.consent.recipients import LinkInvalid
from forms_app.models import ENGLISH
from forms_app.texts.replies import confirmation_lines, name_for_submitters
from keys.branding.brand import brand_of
from keys.models import Organization
from submissions.confirmations import KEPT_UNCONFIRMED
from submissions.hosted import pages
from submissions.lifecycle.confirmation import confirm, find_question
from submissions.models import Consent


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that confirms a submission; the POST confirms it."""
    question = find_question(token)
    if question is None:
        return _gone(request)
    form = question.submission.form
    if form.is_unavailable:
        return _private(pages.unavailable(request, form))
    is_confirmed = question.confirmed_at is not None
    if request.method == "POST" and not is_confirmed:
        is_confirmed = confirm(question, address=client_address(request))
        if not is_confirmed:  # deleted or marked as spam meanwhile
            return _gone(request)
    return _private(_show(request, question, is_confirmed=is_confirmed))


def _show(request: HttpRequest, question: Consent, *, is_confirmed: bool) -> HttpResponse:
    form = question.submission.form
    with translation.override(form.language):
        organization_name = shown_name(form.organization)
        lines = confirmation_lines(name_for_submitters(form.name), organization_name, question.email)
        heading = gettext("Confirm what you sent to %(organization)s") % {"organization": organization_name}
    context: dict[str, Any] = {
        "heading": heading,
        "lines": lines,
        "organization_name": organization_name,
        "days": KEPT_UNCONFIRMED.days,
        "is_confirmed": is_confirmed,
    }
    context["hides_service"] = not form.names_service
    return pages.of_mail(request, "hosted/confirm.html", context, language=form.language, brand=form.brand)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def no_mails_page(request: HttpRequest, token: str) -> HttpResponse:
    """Ask for the one click that ends an organization's mails; the POST ends them, and another one allows them."""
    try:
        link = find_link(token)
    except LinkInvalid:
        return _gone(request)
    wants_again = request.POST.get("action") == "resume"
    if request.method == "POST":
        (opt_in if wants_again else opt_out)(link)
    return _private(_no_mails(request, link, is_resumed=wants_again))


def _no_mails(request: HttpRequest, link: Link, *, is_resumed: bool) -> HttpResponse:
    language = link.language if link.language in dict(settings.LANGUAGES) else ENGLISH
    with translation.override(language):
        organization_name = shown_name(link.organization)
    context: dict[str, Any] = {
        "address": link.email,
        "organization_name": organization_name,
        "is_stopped": link.is_used,
        "is_resumed": is_resumed,
    }
    return pages.of_mail(request, "hosted/no_mails.html", context, language=language, brand=brand_of(link.organization))


def shown_name(organization: Organization) -> str:
    """Return the name of an organization as strangers see it, in the present language."""
    return name_for_strangers(organization.name, gettext("an organization"))[:SHOWN_OF_A_NAME]


def _gone(request: HttpRequest) -> HttpResponse:
    language = get_language_from_request(request)
    return _private(pages.of_mail(request, "hosted/link_gone.html", {}, language=language, status=404))


def _private(response: HttpResponse) -> HttpResponse:
    """Keep the address of the page, which is a key, out of search engines and of the Referer header."""
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex"
    return response
