"""Destinations: their list, a new one of a kind, their pages, and the actions on them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError, Detail
from config.ids import Prefix
from dashboard.access import SAFE, MemberRequest, find_own, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_change, is_fresh
from dashboard.changes.sent_once import open_page, sent_once
from dashboard.changes.traffic import log_size
from dashboard.changes.undo import offer_undo, undone
from dashboard.destinations.inputs import PREFIX, ConfigForm, DestinationForm, NameForm
from dashboard.html_forms.webhooks import LogFilterForm
from dashboard.limits.costs import by_script, expensive, while_typing
from dashboard.views import deliveries
from forms_app.models import Form
from keys.models import Role
from submissions.json_text import dump_json
from webhooks.channels.destinations.base import Config, Kind
from webhooks.channels.destinations.kinds import KINDS
from webhooks.destinations.actions import (
    add_destination,
    change_destination,
    check_new_destination,
    config_of,
    delete_destination,
    disable_destination,
    held_for,
    send_test_to,
    undo_disabling,
)
from webhooks.destinations.preview import placeholders_for, preview_of, preview_of_stored
from webhooks.log_queries import log_of, recent_results
from webhooks.models import Destination

STATUS = Destination.Status
ONCE = "destination_forms"  # session key: tokens of the pages that may make one destination each
_Context = dict[str, Any]


def is_typed_preview(request: HttpRequest) -> bool:
    """Return whether a script of the page asks for a preview."""
    return by_script(request) and _is_preview(request)


@in_organization()
@require_safe
def destinations(request: MemberRequest) -> HttpResponse:
    """List the destinations of all forms, those that need attention first."""
    own = list(_own(request).order_by(F("form__name").asc(nulls_first=True), "id"))
    held = held_for([each for each in own if each.status == STATUS.NEEDS_ATTENTION])
    rows = [(each, _label_of(each), held.get(each.pk, 0)) for each in own]
    rows.sort(key=lambda row: row[0].status != STATUS.NEEDS_ATTENTION)
    return render(request, "dashboard/destinations.html", {"rows": rows, "kinds": KINDS.values()})


@in_organization(Role.ADMIN)
@require_safe
def choose_kind(request: MemberRequest) -> HttpResponse:
    """Offer the services."""
    return render(
        request, "dashboard/destination_kinds.html", {"kinds": KINDS.values(), "form_id": request.GET.get("form")}
    )


@in_organization(Role.ADMIN)
@sensitive_post_parameters()
@while_typing("preview", is_typed_preview)
def new_destination(request: MemberRequest, kind: str) -> HttpResponse:
    """Ask for form, name and settings; show a preview; create the destination."""
    found = _kind_named(kind)
    previewing = _is_preview(request)
    if not previewing:
        _ask_for_proof(request, found)
    organization, posted = request.member.organization, request.POST or None
    start = {"form": request.GET.get("form", "all"), "name": found.label}
    entered = DestinationForm(posted, organization=organization, initial=start)
    settings = ConfigForm(posted, kind=found)
    if request.method == "POST" and not previewing:
        made = _create(request, found, entered, settings)
        if made is not None:
            return made
    chosen = _form_chosen(entered, request)
    shown, details = _preview(request, found, settings.typed() if posted else {}, chosen)
    if previewing:
        settings.show_details(details)
        entered.errors.clear()
    context = {"kind": found, "entered": entered, "config": settings, **shown}
    if request.htmx:
        return render(request, "dashboard/parts/destination_preview.html", context)
    context["once"] = open_page(request, ONCE)
    refused = request.method == "POST" and not previewing
    return render(request, "dashboard/destination_new.html", context, status=400 if refused else 200)


@sensitive_variables("typed", "config")
def _create(request: MemberRequest, kind: Kind, entered: DestinationForm, settings: ConfigForm) -> HttpResponse | None:
    """Create the destination; None if something is wrong, which the HTML forms show then."""
    organization, typed = request.member.organization, settings.typed()
    if not entered.is_valid() or settings.errors:
        try:
            kind.read(typed)
        except ApiError as error:
            settings.show(error)
        return None
    form, name = entered.cleaned_data["form"], entered.cleaned_data["name"]
    with sent_once(request, ONCE) as is_first:
        if not is_first:
            messages.warning(request, gettext("The destination was created already and is in the list."))
            return redirect("dashboard:destinations", organization.slug)
        try:
            config = check_new_destination(form, kind.name, typed)
            made = add_destination(organization=organization, form=form, kind=kind.name, name=name, config=config)
        except ApiError as error:
            settings.show(error)
            return None
    said = gettext("The destination is created. Send a test to see that it arrives.")
    messages.success(request, said)
    return _to(request, made)


def _form_chosen(entered: DestinationForm, request: MemberRequest) -> Form | None:
    """Return the form that is chosen; None for all forms, and for none."""
    if entered.is_bound:
        entered.is_valid()
        return entered.cleaned_data.get("form")
    field = entered.fields["form"]
    wanted = request.GET.get("form", "all")
    # The stubs know only that it is a Field.
    chosen: Form | None = field.clean(wanted) if field.valid_value(wanted) else None  # type: ignore[attr-defined]  # see above
    return chosen


@in_organization()
@require_safe
def destination(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Show a destination, its preview, its actions, and its log."""
    found = _find(request, destination_id)
    filters = LogFilterForm(request.GET)
    page = deliveries.page_of([filters.narrow(log_of(found))], request.GET.get("page", ""))
    found = _find(request, destination_id)  # after the log: its last poll must show the status that the test left
    context = {
        "destination": found,
        "held": held_for([found]).get(found.pk, 0),
        "kind_label": _label_of(found),
        "filters": filters,
        "page": page,
        "query": deliveries.query_of(request, "status"),
        "here": deliveries.query_of(request, "status", "page"),
        "log_url": reverse("dashboard:destination", args=[request.member.organization.slug, found.public_id]),
        "log_of": "destination",
        "results": recent_results(found),
    }
    if request.headers.get("HX-Request"):
        return render(request, "dashboard/parts/destination_log.html", context)
    context |= {"preview": preview_of_stored(found), "facts": list(_facts(found))}
    return render(request, "dashboard/destination.html", context)


@in_organization(Role.ADMIN)
@sensitive_post_parameters()
@while_typing("preview", is_typed_preview)
def edit(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Change the name, or the settings as a whole, which releases held deliveries."""
    found = _find(request, destination_id)
    kind = _kind_named(found.kind)
    act = request.POST.get("do", "")
    if not _is_preview(request):
        _ask_for_proof(request, kind)
    stored = config_of(found)
    named, settings = NameForm(initial={"name": found.name}), ConfigForm.showing(kind, stored)
    if request.method == "POST" and act == "name":
        named = NameForm(request.POST)
        if named.is_valid():
            change_destination(found, {"name": named.cleaned_data["name"]})
            messages.success(request, gettext("The name is saved."))
            return _to(request, found)
    elif request.method == "POST":
        settings = ConfigForm(request.POST, kind=kind)
        if not _is_preview(request) and _is_saved(request, found, settings):
            return _to(request, found)
    typed = settings.typed() if settings.is_bound else _unmasked(kind, stored)
    shown, details = _preview(request, kind, typed, found.form)
    if _is_preview(request):
        settings.show_details(details)
    context = {
        "destination": found,
        "kind": kind,
        "named": named,
        "config": settings,
        "kind_label": kind.label,
        "held": held_for([found]).get(found.pk, 0),
        **shown,
    }
    if request.htmx:
        return render(request, "dashboard/parts/destination_preview.html", context)
    refused = request.method == "POST" and not _is_preview(request)
    return render(request, "dashboard/destination_edit.html", context, status=400 if refused else 200)


@sensitive_variables("typed")
def _is_saved(request: MemberRequest, found: Destination, settings: ConfigForm) -> bool:
    """Save the settings and return True, or show what is wrong with them."""
    held, typed = held_for([found]).get(found.pk, 0), settings.typed()
    if settings.errors:
        return False
    try:
        change_destination(found, {"config": typed})
    except ApiError as error:
        settings.show(error)
        return False
    messages.success(request, _released(held) if found.status == STATUS.NEEDS_ATTENTION else gettext("Saved."))
    return True


def _released(held: int) -> str:
    if not held:
        return gettext("The destination is active. New submissions are sent to it.")
    return ngettext(
        "The destination is active. %(count)s held delivery is being sent.",
        "The destination is active. %(count)s held deliveries are being sent.",
        held,
    ) % {"count": intcomma(held)}


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def activate(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Activate a destination and send its held deliveries, or undo that it was disabled just now."""
    found = _find(request, destination_id)
    kept = undone(request)
    held = held_for([found]).get(found.pk, 0)
    try:
        if kept is None:
            change_destination(found, {"status": STATUS.ACTIVE.value})
            messages.success(request, _released(held))
        else:
            undo_disabling(found, json.loads(kept))
            messages.success(request, gettext("Undone. The destination and its deliveries are as before."))
    except ApiError as error:
        messages.error(request, error.message)
    return _to(request, found)


@in_organization(Role.ADMIN)
@require_POST
def disable(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Disable a destination, and offer to undo that."""
    found = _find(request, destination_id)
    waiting = log_size(found).waiting
    try:
        kept = disable_destination(found)
    except ApiError as error:
        messages.error(request, error.message)
        return _to(request, found)
    text = " ".join([gettext("The destination is disabled. New submissions are not sent to it."), waiting]).strip()
    address = reverse("dashboard:destination-activate", args=[request.member.organization.slug, found.public_id])
    offer_undo(request, text, address=address, later=gettext("Activate"), kept=dump_json(kept))
    return _to(request, found)


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def test(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Send an example submission, marked as a test."""
    found = _find(request, destination_id)
    with reporting(request, gettext("The first entry of the log shows the result of the test.")):
        send_test_to(found)
    return _to(request, found)


@in_organization(Role.ADMIN)
def delete(request: MemberRequest, destination_id: str) -> HttpResponse:
    """Ask, then delete the destination with its log."""
    found = _find(request, destination_id)
    if request.method != "POST":
        context = {"destination": found, "kind_label": _label_of(found), "log": log_size(found)}
        return render(request, "dashboard/destination_delete.html", context)
    with reporting(request, gettext("The destination and its log are deleted.")):
        delete_destination(found)
    return redirect("dashboard:destinations", request.member.organization.slug)


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


def _preview(request: MemberRequest, kind: Kind, typed: Config, form: Form | None) -> tuple[_Context, list[Detail]]:
    """Return the part of a page with the preview, and what is wrong with the typed settings."""
    organization = request.member.organization
    preview, details = preview_of(kind, typed, organization, form)
    labels = {f"config.{each.name}": each.label for each in kind.inputs}
    return {
        "preview": preview,
        "problems": [(labels.get(each.field, ""), each.message) for each in details],
        "placeholders": placeholders_for(kind, organization, form),
    }, details


def _kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise Http404
    return KINDS[name]


def _label_of(found: Destination) -> Any:
    return KINDS[found.kind].label if found.kind in KINDS else found.kind


def _unmasked(kind: Kind, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a shown config that hold no secret."""
    return {each.name: stored[each.name] for each in kind.inputs if each.name in stored and not each.is_secret}


def _facts(found: Destination) -> Iterator[tuple[Any, str]]:
    """Yield label and text of each setting; of secrets their last characters."""
    if found.kind not in KINDS:
        return
    shown = config_of(found)
    for each in KINDS[found.kind].inputs:
        if shown.get(each.name):
            yield each.label, _fact(shown[each.name], each.writes)


def _fact(value: Any, writes: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"hint"}:
        return str(value["hint"])
    if isinstance(value, dict) and all(isinstance(one, dict) and one.keys() == {"hint"} for one in value.values()):
        return "\n".join(f"{name}: {one['hint']}" for name, one in value.items())
    return str(writes(value))


def _own(request: MemberRequest) -> Any:
    return Destination.objects.filter(organization=request.member.organization).select_related("form", "organization")


def _find(request: MemberRequest, destination_id: str) -> Destination:
    found: Destination = find_own(_own(request), Prefix.DESTINATION, destination_id)
    return found


def _to(request: MemberRequest, found: Destination) -> HttpResponse:
    return redirect("dashboard:destination", request.member.organization.slug, found.public_id)


urlpatterns = [
    path("destinations", destinations, name="destinations"),
    path("destinations/new", choose_kind, name="destination-new"),
    path("destinations/new/<str:kind>", new_destination, name="destination-new-kind"),
    path("destinations/<str:destination_id>", destination, name="destination"),
    path("destinations/<str:destination_id>/edit", edit, name="destination-edit"),
    path("destinations/<str:destination_id>/activate", activate, name="destination-activate"),
    path("destinations/<str:destination_id>/disable", disable, name="destination-disable"),
    path("destinations/<str:destination_id>/test", test, name="destination-test"),
    path("destinations/<str:destination_id>/delete", delete, name="destination-delete"),
]
