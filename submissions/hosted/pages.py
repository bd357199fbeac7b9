"""
The pages of plain posts: the form, the form with its errors, thanks, "not sent", "closed" and "not available".

Each is in the form's language, or in the browser's without a form.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, gettext

from config.api.errors import ApiError, Detail
from forms_app.field_definitions import GENERAL_FIELDS, PAGE_CONTROL_FIELDS, is_framework_field
from forms_app.file_fields.entries import has_files
from forms_app.models import Form
from forms_app.spam_protection import Captcha, SpamProtection
from keys.branding.brand import Brand
from submissions.hosted import stamps
from submissions.hosted.controls import as_list, controls_of
from submissions.hosted.mode_keys import kept_in_address
from submissions.hosted.page_texts import put_for_visitors
from submissions.hosted.redirects import way_back
from submissions.receiving.captchas import PROVIDERS, Provider
from submissions.receiving.insert import message_of
from submissions.receiving.parse_body import HONEYPOT, KEPT_CONTROLS, LIST_SEPARATOR, is_control

NOBODY = "'none'"
# The next page was decided by the page that posted; the stamp keeps that decision.
CARRIED = KEPT_CONTROLS - {"_next", "_redirect"}
# Errors that sending the form again from our page would not end, or would hide: that page is not the refused one.
FINAL = {"origin_not_allowed", "not_found", "unauthorized", "invalid_access_key", "payload_too_large"}

Page = TypeVar("Page", bound=Callable[..., HttpResponse])


def in_language(show: Page) -> Page:
    """Make a page speak the language of the form that it is given, or of the browser."""

    @wraps(show)
    def speaking(request: HttpRequest, form: Form | None, *args: Any, **kwargs: Any) -> HttpResponse:
        language = form.language if form else get_language_from_request(request)
        with translation.override(language):
            response = show(request, form, *args, **kwargs)
        response.headers["Content-Language"] = language
        if form is None:
            patch_vary_headers(response, ["Accept-Language"])
        return response

    return cast(Page, speaking)


@in_language
def form_page(request: HttpRequest, form: Form, segment: str, *, typed: Mapping[str, Any]) -> HttpResponse:
    """Show a form, filled in with `typed`. `segment`: its id or address, as it is in the page's path."""
    action = f"?{stamps.PARAMETER}={stamps.make(segment)}{kept_in_address(request)}"
    context = _form_context(form, form.fields or _general_fields(), typed, [], action)
    return _render(request, form, "hosted/form.html", context)


@in_language
def problem(
    request: HttpRequest,
    form: Form | None,
    failure: ApiError,
    *,
    typed: Mapping[str, Any],
    action: str,
    had_files: bool = False,
) -> HttpResponse:
    """
    Show the errors, and everything that was typed: in the form again, or to copy where that would not help.

    `action`: where the form posts to. `had_files`: files were sent, which no page can choose again.
    Replaces the texts of `failure` by those for visitors.
    """
    put_for_visitors(failure, form.fields if form else [])
    fields, data = _fields_of(form, typed) if form else [], data_of(typed, form)
    if form is None or failure.code in FINAL or not (fields or data):
        may_reload = failure.status in (429, 500, 503)  # which sends the same again
        final = {"failure": failure, "typed": data, "may_reload": may_reload}
        return _render(request, form, "hosted/problem.html", final, failure)
    context = _form_context(form, fields, typed, failure.details, action)
    placed = {error for control in context["controls"] for error in control.errors}
    general = [detail.sentence for detail in failure.details if detail.sentence not in placed]
    general = general or ([] if failure.details else [failure.message])
    context |= {"failure": failure, "had_files": had_files, "general": general}
    return _render(request, form, "hosted/form.html", context, failure)


def _general_fields() -> list[dict[str, Any]]:
    """Return the fields of a form without fields, with labels in the page's language."""
    return [{**field, "label": gettext(field["label"])} for field in GENERAL_FIELDS]


def _fields_of(form: Form, typed: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the fields to show again: of a form without fields only names that were sent, as its page may be any."""
    sent = [field for field in _general_fields() if field["name"] in typed]
    return form.fields or [{**field, "required": bool(field["required"] and typed[field["name"]])} for field in sent]


@in_language
def lost(
    request: HttpRequest,
    form: Form | None,
    *,
    typed: Mapping[str, Any],
    context: Mapping[str, Any],
) -> HttpResponse:
    """Show the text of a post to an address without a form, and the address that its page needs."""
    return _render(request, form, "hosted/lost.html", {"typed": data_of(typed, form), **context}, status=404)


def data_of(typed: Mapping[str, Any], form: Form | None) -> dict[str, list[str]]:
    """Return the names and values of a parsed body that a visitor would recognize."""
    declared = {field["name"] for field in form.fields} if form else set()
    return {
        name: as_list(value)
        for name, value in typed.items()
        if as_list(value) and (name in declared or not _is_hidden(name))
    }


def _is_hidden(name: str) -> bool:
    return is_control(name, PAGE_CONTROL_FIELDS) or is_framework_field(name)


@in_language
def thanks(request: HttpRequest, form: Form) -> HttpResponse:
    """Show a form's success message, and a way back."""
    return _render(request, form, "hosted/thanks.html", _thanks_context(form, request.META.get("HTTP_REFERER", "")))


def _thanks_context(form: Form, referer: str) -> dict[str, Any]:
    return {"message": form.success_message or gettext(message_of(form)), "back": way_back(form, referer)}


@in_language
def preview(request: HttpRequest, form: Form, *, is_thanks: bool) -> HttpResponse:
    """Show a form's page, or its thank-you page, inside the dashboard: nothing in it can be sent or run."""
    template, context = "hosted/form.html", _form_context(form, form.fields or _general_fields(), {}, [], "")
    if is_thanks:
        template, context = "hosted/thanks.html", _thanks_context(form, "")
    response = _render(request, form, template, {**context, "proof_of_work": False, "captcha": None})
    # It keeps its origin, which its style sheet is of.
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; style-src 'self'{_style_source(form.brand)}; img-src 'self'; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'self'; sandbox allow-same-origin"
    )
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


@in_language
def closed(request: HttpRequest, form: Form | None) -> HttpResponse:  # noqa: ARG001  # for its language
    """Show that there is no form to fill in: a draft, an archived one, or none at all."""
    return _render(request, None, "hosted/closed.html", {}, status=404)


@in_language
def unavailable(
    request: HttpRequest,
    form: Form | None,  # noqa: ARG001  # for its language
    *,
    status: int = 403,
    typed: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Show that the form takes nothing: it is blocked, its organization is suspended, or its storage is full."""
    return _render(request, None, "hosted/unavailable.html", {"typed": data_of(typed or {}, None)}, status=status)


@in_language
def report(
    request: HttpRequest, form: Form, *, reason: str = "", problem: str = "", is_done: bool = False, status: int = 200
) -> HttpResponse:
    """Ask a visitor why the form is reported, or say that the report was sent."""
    context = {"reason": reason, "problem": problem, "is_done": is_done, "is_report": True}
    return _render(request, form, "hosted/report.html", context, status=status)


def of_mail(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    language: str,
    brand: Brand | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show the page of a link in a mail, in the look of `brand`. Nobody may frame it."""
    with translation.override(language):
        response = _render(request, None, template, context, status=status, brand=brand)
    response.headers["Content-Language"] = language
    return response


def _form_context(
    form: Form, fields: Sequence[Mapping[str, Any]], typed: Mapping[str, Any], problems: list[Detail], action: str
) -> dict[str, Any]:
    declared = {field["name"] for field in fields}
    data = {name: value for name, value in typed.items() if name in declared or not _is_hidden(name)}
    carried = {name: LIST_SEPARATOR.join(as_list(typed[name])) for name in typed if name in CARRIED}
    protection = SpamProtection.of(form.spam_protection)
    return {
        "controls": controls_of(fields, data, problems),
        "takes_files": has_files(fields),
        "carried": carried,
        "honeypot": HONEYPOT,
        "action": action,
        "proof_of_work": protection.proof_of_work,
        "captcha": PROVIDERS[Captcha(protection.captcha)] if protection.captcha and protection.captcha_secret else None,
        "site_key": protection.captcha_site_key,
    }


def _render(
    request: HttpRequest,
    form: Form | None,
    template: str,
    context: dict[str, Any],
    failure: ApiError | None = None,
    *,
    status: int = 200,
    brand: Brand | None = None,
) -> HttpResponse:
    brand = form.brand if form else brand
    context = {"hides_service": form is not None and not form.names_service, **context, "form": form, "brand": brand}
    response = render(request, template, context, status=failure.status if failure else status)
    for name, value in (failure.headers if failure else {}).items():
        response.headers[name] = value
    response.headers["Cache-Control"] = "no-store"  # it holds a stamp, and perhaps what a visitor typed
    response.headers["Content-Security-Policy"] = _policy(form, brand, context.get("captcha"))
    if form and form.allowed_origins:
        response.xframe_options_exempt = True  # frame-ancestors decides
    return response


def _policy(form: Form | None, brand: Brand | None, captcha: Provider | None) -> str:
    """
    Return the page's Content-Security-Policy.

    Without `form-action`: Chromium applies it to redirects too, and a form's owner may send visitors anywhere.
    """
    provider = f" {captcha.sources}" if captcha else ""
    directives = [
        "default-src 'none'",
        f"style-src 'self'{_style_source(brand)}{provider}",
        "img-src 'self'",
        f"script-src 'self'{provider}",
        f"connect-src 'self'{provider}",
        f"frame-src{provider or ' ' + NOBODY}",
        "base-uri 'none'",
        f"frame-ancestors {' '.join(form.allowed_origins if form else []) or NOBODY}",
    ]
    if captcha is None:  # a provider's script writes HTML
        directives[-1:-1] = ["require-trusted-types-for 'script'", "trusted-types fieldpost"]  # hosted.js has this one
    return "; ".join(directives)


def _style_source(brand: Brand | None) -> str:
    """Return the source of the accent, which is in the page: the first paint would wait for a separate sheet."""
    source = brand.style_source if brand else ""
    return f" {source}" if source else ""
