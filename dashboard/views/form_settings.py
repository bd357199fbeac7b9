"""The settings of a form: name, origins, texts, redirect and retention; spam protection; notifications."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from config.api.errors import ApiError
from dashboard.access import MemberRequest, find_form, in_organization, reporting
from dashboard.accounts.ended_sessions import keeps_typed, only_shows
from dashboard.accounts.fresh_login import fresh_to_change
from dashboard.html_forms.forms import RecipientsForm, SettingsForm, save
from dashboard.html_forms.spam_protection import SpamProtectionForm
from dashboard.limits.costs import expensive
from forms_app.actions import StaleForm, change_spam_protection
from forms_app.consent.recipients import mailable, standings
from keys.models import Role
from webhooks.enqueue import MAIL
from webhooks.events import TEST
from webhooks.log_queries import newest_attempts
from webhooks.mails.recipients import ask, save_recipients
from webhooks.models import Delivery, Receiver
from webhooks.test_mail import send_test_mail

SHOWN_TESTS = 5


@keeps_typed
@in_organization()
def settings(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show and save name, origins, success message, redirect and retention."""
    form = find_form(request, form_id)
    entered = SettingsForm(request.POST) if request.method == "POST" else SettingsForm.showing(form)
    if request.method == "POST" and entered.is_valid() and not only_shows(request) and save(form, entered):
        messages.success(request, gettext("Saved. It applies from the next submission on."))
        return redirect("dashboard:form-settings", request.member.organization.slug, form.public_id)
    context = {"form": form, "entered": entered}
    return render(request, "dashboard/form_settings.html", context, status=entered.status if entered.errors else 200)


@keeps_typed
@in_organization()
def spam(request: MemberRequest, form_id: str) -> HttpResponse:
    form = find_form(request, form_id)
    entered = SpamProtectionForm(request.POST or None, form=form)
    if request.method == "POST" and entered.is_valid() and not only_shows(request):
        try:
            change_spam_protection(form, entered.as_protection(), seen=entered.seen_version)
        except StaleForm as failure:
            entered.refuse_stale(form, failure)
        except ApiError as error:
            entered.add_error(None, error.message)
        else:
            messages.success(request, gettext("Saved. It applies from the next submission on."))
            return redirect("dashboard:form-spam", request.member.organization.slug, form.public_id)
    context = {"form": form, "entered": entered}
    return render(request, "dashboard/form_spam.html", context, status=entered.status if entered.errors else 200)


@keeps_typed
@in_organization(Role.ADMIN)
@fresh_to_change
def notifications(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show and save the recipients, and show the newest test mails."""
    form = find_form(request, form_id)
    initial = {**RecipientsForm.stamp(form), "recipients": "\n".join(form.notification_recipients)}
    entered = RecipientsForm(request.POST or None, initial=initial)
    if request.method == "POST" and entered.is_valid() and not only_shows(request):
        try:
            asked = save_recipients(form, entered.addresses(), seen=entered.seen_version)
        except StaleForm as failure:
            entered.refuse_stale(form, failure)
        except ApiError as error:
            entered.add_error("recipients", error.message)
        else:
            messages.success(request, _saved(asked))
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
    return render(
        request, "dashboard/form_notifications.html", context, status=entered.status if entered.errors else 200
    )


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
    """Mail a recipient another link to confirm the address."""
    form = find_form(request, form_id)
    address = request.POST.get("recipient", "")
    with reporting(
        request, gettext("A mail with a link to confirm is on its way to %(address)s.") % {"address": address}
    ):
        ask(form, address)
    return redirect("dashboard:form-notifications", request.member.organization.slug, form.public_id)


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def test_mail(request: MemberRequest, form_id: str) -> HttpResponse:
    """Send a test mail to one recipient."""
    form = find_form(request, form_id)
    recipient = request.POST.get("recipient", "")
    with reporting(
        request,
        gettext("A test mail to %(recipient)s is on its way. The result is shown below.") % {"recipient": recipient},
    ):
        send_test_mail(form, recipient, request=request)
    return redirect("dashboard:form-notifications", request.member.organization.slug, form.public_id)


urlpatterns = [
    path("forms/<str:form_id>/settings", settings, name="form-settings"),
    path("forms/<str:form_id>/spam", spam, name="form-spam"),
    path("forms/<str:form_id>/notifications", notifications, name="form-notifications"),
    path("forms/<str:form_id>/ask-recipient", ask_recipient, name="form-recipient-ask"),
    path("forms/<str:form_id>/test-mail", test_mail, name="form-test-mail"),
]
