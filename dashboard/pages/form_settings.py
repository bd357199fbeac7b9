"""The settings of a form: name, origins, texts, redirect and retention; spam protection; notifications."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_POST

from dashboard.access import MemberRequest, find_form, in_organization, reporting
from dashboard.accounts.ended_sessions import keeps_typed, only_shows
from dashboard.accounts.fresh_login import fresh_to_change
from dashboard.frame.changes.stamped import StampedForm
from dashboard.frame.limits.costs import expensive
from dashboard.html_forms.forms import RecipientsForm, SettingsForm
from dashboard.html_forms.spam_protection import SpamProtectionForm
from forms_app.consent.recipients import mailable, standings
from keys.models import Role
from webhooks.enqueue import MAIL
from webhooks.events import TEST
from webhooks.log_queries import newest_attempts
from webhooks.mails.recipients import ask, send_test_mail
from webhooks.models import Delivery, Receiver

SHOWN_TESTS = 5
SAVED = gettext_noop("Saved. It applies from the next submission on.")


def edit(
    request: MemberRequest, form_id: str, part: type[StampedForm], template: str, *, saved: str, **more: Any
) -> HttpResponse:
    """Show and save a part of a form's settings. `saved`: the message after a save. `more`: for the template."""
    form = find_form(request, form_id)
    entered = part(request.POST if request.method == "POST" else None, form=form)
    if entered.is_valid() and not only_shows(request) and entered.save():
        messages.success(request, saved)
        return redirect(request.path)
    context = {"form": form, "entered": entered, **more}
    return render(request, template, context, status=entered.status if entered.errors else 200)


@keeps_typed
@in_organization(of_forms=True)
def settings(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show and save name, origins, success message, redirect and retention."""
    return edit(request, form_id, SettingsForm, "dashboard/form_settings.html", saved=gettext(SAVED))


@keeps_typed
@in_organization(of_forms=True)
def spam(request: MemberRequest, form_id: str) -> HttpResponse:
    return edit(request, form_id, SpamProtectionForm, "dashboard/form_spam.html", saved=gettext(SAVED))


@keeps_typed
@in_organization(Role.ADMIN)
@fresh_to_change
def notifications(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show and save the recipients, and show the newest test mails."""
    form = find_form(request, form_id)
    entered = RecipientsForm(request.POST or None, form=form)
    if entered.is_valid() and not only_shows(request) and entered.save():
        messages.success(request, _saved(entered.asked))
        return redirect("dashboard:form-notifications", request.member.organization.slug, form.public_id)
    tests = Delivery.objects.filter(organization=request.member.organization, event=TEST.name, channel=MAIL)
    tests = tests.filter(target__in=form.notification_recipients).prefetch_related(newest_attempts()).order_by("-id")
    context = {
        "form": form,
        "entered": entered,
        "tests": tests[:SHOWN_TESTS],
        "standings": standings(form),
        "testable": mailable([form]).get(form.pk, []),
        "destinations": Receiver.objects.serving(form).count(),
    }
    if request.htmx and request.method == "GET":
        return render(request, "dashboard/parts/test_mails.html", context)
    status = entered.status if entered.errors else 200
    return render(request, "dashboard/form_notifications.html", context, status=status)


def _saved(asked: int) -> str:
    if not asked:
        return gettext("Saved. They get a mail for each new submission.")
    return ngettext(
        "Saved. %(count)s address gets a mail with a link to confirm, and nothing else before that.",
        "Saved. %(count)s addresses get a mail with a link to confirm, and nothing else before that.",
        asked,
    ) % {"count": asked}


@in_organization(Role.ADMIN)
@require_POST
def ask_recipient(request: MemberRequest, form_id: str) -> HttpResponse:
    form = find_form(request, form_id)
    address = request.POST.get("recipient", "")
    done = gettext("A mail with a link to confirm is on its way to %(address)s.")
    with reporting(request, done % {"address": address}):
        ask(form, address)
    return redirect("dashboard:form-notifications", request.member.organization.slug, form.public_id)


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def test_mail(request: MemberRequest, form_id: str) -> HttpResponse:
    form = find_form(request, form_id)
    recipient = request.POST.get("recipient", "")
    done = gettext("A test mail to %(recipient)s is on its way. The result is shown below.")
    with reporting(request, done % {"recipient": recipient}):
        send_test_mail(form, recipient)
    return redirect("dashboard:form-notifications", request.member.organization.slug, form.public_id)


urlpatterns = [
    path("forms/<str:form_id>/settings", settings, name="form-settings"),
    path("forms/<str:form_id>/spam", spam, name="form-spam"),
    path("forms/<str:form_id>/notifications", notifications, name="form-notifications"),
    path("forms/<str:form_id>/ask-recipient", ask_recipient, name="form-recipient-ask"),
    path("forms/<str:form_id>/test-mail", test_mail, name="form-test-mail"),
]
