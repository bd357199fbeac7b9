"""The pages of `/f/{formId}`: the form, the form with its errors, thanks, "closed" and "not available"."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.api.errors import ApiError, Detail
from forms_app.field_definitions import GENERAL_FIELDS
from forms_app.models import Form
from forms_app.spam_protection import Captcha, SpamProtection
from submissions.hosted import stamps
from submissions.hosted.controls import controls_of
from submissions.receiving.captchas import PROVIDERS, Provider
from submissions.receiving.insert import message_of
from submissions.receiving.key_and_form import submit_form_of
from submissions.receiving.parse_body import HONEYPOT, KEPT_CONTROLS, is_control

NOBODY = "'none'"
CARRIED = KEPT_CONTROLS - {"_next"}  # `_next` was decided by the page that posted; the stamp keeps that decision


def form_page(request: HttpRequest, form: Form, *, typed: Mapping[str, Any]) -> HttpResponse:
    """Show a form, filled in with `typed`."""
    context = _form_context(form, typed, [], stamps.make(form.public_id))
    return _render(request, form, "hosted/form.html", context)


def problem(
    request: HttpRequest, form: Form | None, failure: ApiError, *, typed: Mapping[str, Any], stamp: str
) -> HttpResponse:
    """Show the errors, and the form again with everything that was typed."""
    if form is None and not typed:
        return _render(request, None, "hosted/problem.html", {"failure": failure}, failure)
    context = _form_context(form, typed, failure.details, stamp)
    placed = {error for control in context["controls"] for error in control.errors}
    general = [detail.sentence for detail in failure.details if detail.sentence not in placed]
    context |= {"failure": failure, "general": general or ([] if failure.details else [failure.message])}
    return _render(request, form, "hosted/form.html", context, failure)


def thanks(request: HttpRequest, form: Form, *, message: str = "") -> HttpResponse:
    """Show a form's success message."""
    return _render(request, form, "hosted/thanks.html", {"message": message or message_of(submit_form_of(form))})


def closed(request: HttpRequest) -> HttpResponse:
    """Show that there is no form to fill in: a draft, an archived one, or none at all."""
    return _render(request, None, "hosted/closed.html", {}, status=404)


def unavailable(request: HttpRequest, *, status: int = 403) -> HttpResponse:
    """Show that the form takes nothing: its organization is suspended, or its storage is full."""
    return _render(request, None, "hosted/unavailable.html", {}, status=status)


def report(
    request: HttpRequest, form: Form, *, reason: str = "", problem: str = "", is_done: bool = False, status: int = 200
) -> HttpResponse:
    """Ask a visitor why the form is reported, or say that the report was sent."""
    context = {"reason": reason, "problem": problem, "is_done": is_done, "is_report": True}
    return _render(request, form, "hosted/report.html", context, status=status)


def _form_context(form: Form | None, typed: Mapping[str, Any], problems: list[Detail], stamp: str) -> dict[str, Any]:
    data = {name: value for name, value in typed.items() if not is_control(name)}
    carried = {name: typed[name] for name in CARRIED & typed.keys()}
    protection = SpamProtection.of(form.spam_protection if form else {})
    return {
        "controls": controls_of((form.fields or GENERAL_FIELDS) if form else [], data, problems),
        "carried": carried,
        "honeypot": HONEYPOT,
        "action": f"?{stamps.PARAMETER}={stamp}" if stamp else "",
        "proof_of_work": protection.proof_of_work,
        "captcha": _captcha(protection),
        "site_key": protection.captcha_site_key,
    }


def _captcha(protection: SpamProtection) -> Provider | None:
    return PROVIDERS[Captcha(protection.captcha)] if protection.captcha and protection.captcha_secret else None


def _render(
    request: HttpRequest,
    form: Form | None,
    template: str,
    context: dict[str, Any],
    failure: ApiError | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    response = render(request, template, {"form": form, **context}, status=failure.status if failure else status)
    for name, value in (failure.headers if failure else {}).items():
        response.headers[name] = value
    response.headers["Cache-Control"] = "no-store"  # it holds a stamp, and perhaps what a visitor typed
    response.headers["Content-Security-Policy"] = _policy(form, context.get("captcha"))
    if form and form.allowed_origins:
        response.xframe_options_exempt = True  # frame-ancestors decides
    return response


def _policy(form: Form | None, captcha: Provider | None) -> str:
    """
    Return the page's Content-Security-Policy.

    Without `form-action`: Chromium applies it to redirects too, and a form's owner may send visitors anywhere.
    """
    provider = f" {captcha.sources}" if captcha else ""
    directives = [
        "default-src 'none'",
        f"style-src 'self'{provider}",
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
