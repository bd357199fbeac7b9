"""A new receiver of a kind, and its settings, with a preview while somebody types."""

from contextlib import suppress
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_safe

from config.api.errors import ApiError
from dashboard.access import SAFE, MemberRequest, in_organization
from dashboard.accounts.fresh_login import is_fresh
from dashboard.frame.changes.sent_once import open_page, sent_once
from dashboard.frame.limits.costs import by_script, while_typing
from dashboard.pages.receivers.inputs import PREFIX, ConfigForm, ModeForm, NameForm, ReceiverForm
from dashboard.pages.receivers.views import find_receiver, is_active_again, show_secret, to_receiver
from forms_app.models import Form
from keys.models import Role
from webhooks.kinds.kind import Config, Kind
from webhooks.kinds.webhook import EVERY_KIND
from webhooks.models import WEBHOOK, Receiver
from webhooks.receivers.actions import DISABLED_BY_HAND, held_for
from webhooks.receivers.destinations import add_destination, change_destination, check_new_destination, config_of
from webhooks.receivers.preview import placeholders_for, preview_of
from webhooks.receivers.registration import change_webhook, register_webhook

ONCE = "destination_forms"  # session key: tokens of the pages that may make one receiver each
_Context = dict[str, Any]


def is_typed_preview(request: HttpRequest) -> bool:
    return by_script(request) and _is_preview(request)


@in_organization(Role.ADMIN)
@require_safe
def choose_kind(request: MemberRequest) -> HttpResponse:
    context = {"kinds": EVERY_KIND.values(), "form_id": request.GET.get("form")}
    return render(request, "dashboard/destination_kinds.html", context)


@in_organization(Role.ADMIN)
@sensitive_post_parameters()
@while_typing("preview", is_typed_preview)
def new_receiver(request: MemberRequest, kind: str) -> HttpResponse:
    """Ask for form, name and settings; show a preview; create the receiver."""
    found = _kind_named(kind)
    previewing = _is_preview(request)
    if not previewing:
        _ask_for_proof(request, found)
    posted = request.POST or None
    start = {"form": request.GET.get("form", "all"), "name": found.label}
    entered = ReceiverForm(posted, organization=request.member.organization, kind=found, initial=start)
    settings = ConfigForm(posted, kind=found)
    if request.method == "POST" and not previewing:
        made = _create(request, found, entered, settings)
        if made is not None:
            return made
    chosen = _form_chosen(entered, request)
    if previewing:
        entered.errors.clear()
    context = {"entered": entered} if request.htmx else {"entered": entered, "once": open_page(request, ONCE)}
    return _show(
        request, "dashboard/destination_new.html", settings, settings.typed() if posted else {}, chosen, context
    )


@sensitive_variables("typed", "config", "made")
def _create(request: MemberRequest, kind: Kind, entered: ReceiverForm, settings: ConfigForm) -> HttpResponse | None:
    """Create the receiver; None if something is wrong, which the HTML forms show then."""
    organization, typed = request.member.organization, settings.typed()
    if not entered.is_valid() or settings.errors:
        try:
            kind.read(typed)
        except ApiError as error:
            settings.show(error)
        return None
    of = {"organization": organization, **{name: entered.cleaned_data[name] for name in ("form", "mode")}}
    with sent_once(request, ONCE) as is_first:
        if not is_first:
            messages.warning(request, gettext("The destination was created already and is in the list."))
            return redirect("dashboard:destinations", organization.slug)
        try:
            if kind.name == WEBHOOK:
                made = register_webhook(**of, url=kind.read(typed)["url"], events=entered.chosen_events())
            else:
                config = check_new_destination(of["form"], kind.name, typed)
                made = add_destination(**of, kind=kind.name, name=entered.cleaned_data["name"], config=config)
        except ApiError as error:
            settings.show(error)
            return None
    if made.is_webhook:
        return show_secret(request, made, gettext("Webhook created"))
    messages.success(request, gettext("The destination is created. Send a test to see that it arrives."))
    return to_receiver(request, made)


def _form_chosen(entered: ReceiverForm, request: MemberRequest) -> Form | None:
    """Return the form that is chosen; None for all forms, and for none."""
    if entered.is_bound:
        entered.is_valid()
        return entered.cleaned_data.get("form")
    chosen: Form | None = None
    with suppress(ValidationError):
        chosen = entered.fields["form"].clean(request.GET.get("form", "all"))
    return chosen


@in_organization(Role.ADMIN)
@sensitive_post_parameters()
@while_typing("preview", is_typed_preview)
def edit(request: MemberRequest, receiver_id: str) -> HttpResponse:
    """Change the name, or the settings as a whole, which releases held deliveries."""
    found = find_receiver(request, receiver_id)
    kind = _kind_named(found.kind)
    if not _is_preview(request):
        _ask_for_proof(request, kind)
    stored = config_of(found)
    named, settings = NameForm(initial={"name": found.name}), ConfigForm.showing(kind, stored)
    moded = ModeForm(initial={"mode": found.mode})
    if request.POST.get("do") == "name" and not found.is_webhook:
        named = NameForm(request.POST)
        if named.is_valid():
            change_destination(found, {"name": named.cleaned_data["name"]})
            messages.success(request, gettext("The name is saved."))
            return to_receiver(request, found)
    elif request.POST.get("do") == "mode":
        moded = ModeForm(request.POST)
        if moded.is_valid():
            change = change_webhook if found.is_webhook else change_destination
            change(found, {"mode": moded.cleaned_data["mode"]})
            messages.success(request, gettext("The mode is saved."))
            return to_receiver(request, found)
    elif request.method == "POST":
        settings = ConfigForm(request.POST, kind=kind)
        if not _is_preview(request) and _is_saved(request, found, settings):
            return to_receiver(request, found)
    unmasked = {each.name: stored[each.name] for each in kind.inputs if each.name in stored and not each.is_secret}
    typed = settings.typed() if settings.is_bound else unmasked
    context = {
        "receiver": found,
        "named": named,
        "moded": moded,
        "kind_label": kind.label,
        "held": held_for([found]).get(found.pk, 0),
        "is_disabled_by_hand": found.disabled_reason == DISABLED_BY_HAND,
    }
    return _show(request, "dashboard/destination_edit.html", settings, typed, found.form, context)


@sensitive_variables("typed")
def _is_saved(request: MemberRequest, found: Receiver, settings: ConfigForm) -> bool:
    """Save the settings and return True, or show what is wrong with them."""
    held, typed = held_for([found]).get(found.pk, 0), settings.typed()
    if settings.errors:
        return False
    try:
        if found.is_webhook:
            change_webhook(found, settings.kind.read(typed))
        else:
            change_destination(found, {"config": typed})
    except ApiError as error:
        settings.show(error)
        return False
    is_released = found.status == Receiver.Status.NEEDS_ATTENTION
    messages.success(request, is_active_again(held) if is_released else gettext("Saved."))
    return True


def _is_preview(request: HttpRequest) -> bool:
    return request.method == "POST" and request.POST.get("do") == "preview"


def _ask_for_proof(request: MemberRequest, kind: Kind) -> None:
    """
    Require a fresh login, as `fresh_to_open` does.

    A form that was sent too late is kept in the session, so it loses its secrets first: they are asked for again.
    """
    if is_fresh(request):
        return
    if request.method not in SAFE:
        posted = request.POST.copy()
        for name in [f"{PREFIX}-{each.name}" for each in kind.inputs if each.is_secret]:
            posted.pop(name, None)
        request.POST = posted  # type: ignore[assignment]  # a copy that can be changed
    raise ReauthenticationRequired


def _show(
    request: MemberRequest, template: str, settings: ConfigForm, typed: Config, form: Form | None, context: _Context
) -> HttpResponse:
    """Show a page with the preview of the typed settings and what is wrong with them; to htmx, only the preview."""
    kind, organization = settings.kind, request.member.organization
    preview, details = preview_of(kind, typed, organization, form)
    if _is_preview(request):
        settings.show_details(details)
    labels = {f"config.{each.name}": each.label for each in kind.inputs}
    context |= {
        "kind": kind,
        "config": settings,
        "preview": preview,
        "problems": [(labels.get(each.field, ""), each.message) for each in details],
        "placeholders": placeholders_for(kind, organization, form),
    }
    if request.htmx:
        return render(request, "dashboard/parts/destination_preview.html", context)
    refused = request.method == "POST" and not _is_preview(request)
    return render(request, template, context, status=400 if refused else 200)


def _kind_named(name: str) -> Kind:
    if name not in EVERY_KIND:
        raise Http404
    return EVERY_KIND[name]


urlpatterns = [
    path("destinations/new", choose_kind, name="destination-new"),
    path("destinations/new/<str:kind>", new_receiver, name="destination-new-kind"),
    path("destinations/<str:receiver_id>/edit", edit, name="destination-edit"),
]
