"""Replies of a form: the mail that answers a submission, the confirmation before it, and the list of ended mails."""

import dataclasses
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from config.api.errors import ValidationFailed
from config.base.ids import new_id
from config.base.paging import whole_number
from config.base.times import now
from dashboard.access import MemberRequest, find_form, in_organization, reporting
from dashboard.accounts.ended_sessions import SHOW, keeps_typed
from dashboard.frame.limits.costs import expensive
from dashboard.html_forms.replies import RepliesForm
from forms_app.actions import FormValues
from forms_app.consent.opt_outs import remove_opt_out
from forms_app.models import Form, OptOut
from forms_app.snippets import test_values
from forms_app.spam_protection import SpamProtection
from forms_app.texts.placeholders import TemplateRefused
from forms_app.texts.replies import (
    BOUNDED,
    Filled,
    Reply,
    confirmation_lines,
    email_fields,
    has_human_check,
    name_for_submitters,
    refuse_texts,
)
from keys.models import Role
from submissions.models import Submission
from webhooks.mails.recipients import shown_organization_name
from webhooks.mails.submitters import address_of, fill, send_test_reply

PAGE_SIZE = 50
EXAMPLE_ADDRESS = "ada@example.com"


@keeps_typed
@in_organization(of_forms=True)
def replies(request: MemberRequest, form_id: str) -> HttpResponse:
    """Show and save a form's reply and confirmation, with a preview of the typed texts."""
    form = find_form(request, form_id)
    entered = RepliesForm(request.POST if request.method == "POST" else None, form=form)
    is_preview = request.POST.get("do") in ("preview", SHOW)
    protection = SpamProtection.of(form.spam_protection)
    further: FormValues = {}
    if request.POST.get("do") == "protect":  # the answers need a human check, which the error offers to turn on
        further["spam_protection"] = dataclasses.replace(protection, proof_of_work=True).stored()
    typed, confirms = Reply.of(form.reply), form.confirmation
    is_readable = request.method == "POST" and entered.is_valid()
    if is_readable:
        typed, confirms = entered.reply(), bool(entered.cleaned_data["confirmation"])
    if is_readable and not is_preview and entered.save(**further):
        messages.success(request, gettext("Saved. It applies from the next submission on."))
        return redirect("dashboard:form-replies", request.member.organization.slug, form.public_id)
    if is_readable and is_preview:
        try:  # what is wrong with the texts is shown as saving would
            entered.values()
            refuse_texts(entered.reply(), [field["name"] for field in form.fields])
        except ValidationFailed as failure:
            entered.show(failure)
    context = {
        "form": form,
        "entered": entered,
        "placeholders": [_placeholder(field) for field in form.fields],
        "has_email_field": bool(email_fields(form.fields)),
        "has_human_check": has_human_check(protection),
        "lacks_check": bool(entered.errors) and not has_human_check(protection) and bool(email_fields(form.fields)),
        "me": request.member.user.email,
        "stored": Reply.of(form.reply),
        "confirms": confirms,
        **_preview(form, typed, confirms=confirms),
    }
    return render(request, "dashboard/form_replies.html", context, status=entered.status if entered.errors else 200)


def _placeholder(field: dict[str, Any]) -> dict[str, Any]:
    """Return a declared field as a placeholder; `needs_confirmation`: it stays empty until the address is confirmed."""
    text, is_bounded = f"{{{{ data.{field['name']} }}}}", field["type"] in BOUNDED
    return {"text": text, "label": field["label"], "needs_confirmation": not is_bounded}


def _preview(form: Form, typed: Reply, *, confirms: bool) -> dict[str, Any]:
    """Return the reply to the newest submission, or to an example; and the question for confirmation."""
    newest = Submission.objects.filter(form=form, spam=False).listed().order_by("-id").first()
    submission = newest or Submission(id=new_id(), form=form, data=test_values(form), created_at=now())
    submission.form = form
    address = address_of(submission) or EXAMPLE_ADDRESS
    shown: Filled | None = None
    if typed.text or typed.subject:
        with suppress(TemplateRefused):
            shown = fill(form, submission, confirmed=address if confirms else "", reply=typed)
    with translation.override(form.language):
        lines = confirmation_lines(name_for_submitters(form.name), shown_organization_name(form), address)
    return {"shown": shown, "address": address, "is_example": newest is None, "question": lines}


@in_organization(of_forms=True)
@require_POST
@expensive()
def test_reply(request: MemberRequest, form_id: str) -> HttpResponse:
    """Mail the stored reply, filled with examples, to the current user."""
    form = find_form(request, form_id)
    address = request.member.user.email
    with reporting(request, gettext("A test mail to %(recipient)s is on its way.") % {"recipient": address}):
        send_test_reply(form, address)
    return redirect("dashboard:form-replies", request.member.organization.slug, form.public_id)


@in_organization(Role.ADMIN)
def opt_outs(request: MemberRequest) -> HttpResponse:
    """List the addresses that want no more mails, and remove one."""
    own = OptOut.objects.filter(organization=request.member.organization).select_related("organization")
    if request.method == "POST":
        row = own.filter(pk=whole_number(request.POST.get("address", ""))).first()
        if row is None:
            messages.info(request, gettext("This address is not on the list any more."))
        else:
            remove_opt_out(row)
            text = gettext("%(address)s can get mails about its submissions again.")
            messages.success(request, text % {"address": row.email})
        return redirect("dashboard:opt-outs", request.member.organization.slug)
    page = Paginator(own.order_by("-pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "dashboard/opt_outs.html", {"page": page})


urlpatterns = [
    path("forms/<str:form_id>/replies", replies, name="form-replies"),
    path("forms/<str:form_id>/test-reply", test_reply, name="form-test-reply"),
    path("no-mails", opt_outs, name="opt-outs"),
]
