"""Receivers, which the screens call destinations, webhooks among them: their list, their pages, the actions on them."""

import json
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.base.ids import Prefix
from config.base.times import now
from dashboard.access import MemberRequest, find_own, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_change, fresh_to_open
from dashboard.accounts.time_zones import current_zone, own_day
from dashboard.frame.changes.traffic import size_of_log, waiting_in_log
from dashboard.frame.changes.undo import offer_undo, undone
from dashboard.frame.limits.costs import expensive
from dashboard.html_forms.deliveries import LogFilterForm, ReplayForm
from dashboard.pages import deliveries
from keys.models import Role
from submissions.json_text import dump_json
from submissions.models import Submission
from webhooks.kinds.webhook import EVERY_KIND
from webhooks.log_queries import log_of, recent_results
from webhooks.models import WEBHOOK, Delivery, Receiver
from webhooks.receivers.actions import (
    DISABLED_BY_HAND,
    delete_receiver,
    disable_receiver,
    held_for,
    send_test,
    undo_disabling,
)
from webhooks.receivers.destinations import change_destination, config_of
from webhooks.receivers.preview import preview_of_stored
from webhooks.receivers.registration import change_webhook, rotate_secret
from webhooks.replays import replay
from webhooks.serializers import REPLAYABLE, UNDELIVERED

STATUS = Receiver.Status


@in_organization()
@require_safe
def receivers(request: MemberRequest) -> HttpResponse:
    """List the receivers of all forms: those that a page named, those that need attention, the others."""
    # As a range, and in the order of the index by receiver: with "equal", PostgreSQL walks the primary key backwards
    # until it finds one, past every delivery of the other receivers.
    last = Delivery.objects.filter(receiver__gte=OuterRef("pk"), receiver__lte=OuterRef("pk"))
    own = own_receivers(request)
    only_tests = own.filter(mode=Receiver.Mode.TEST).values("pk")
    tests = Submission.objects.ids_of_tests(request.member.organization.pk)
    last = last.exclude(~Q(receiver__in=only_tests), submission__in=tests)
    last = last.order_by("receiver_id", "-id")
    own = own.annotate(last_status=Subquery(last.values("status")[:1]), last_at=Subquery(last.values("created_at")[:1]))
    everything = list(own.order_by(F("form__name").asc(nulls_first=True), "id"))
    held = held_for([each for each in everything if each.status in (STATUS.PENDING, STATUS.NEEDS_ATTENTION)])
    everything.sort(key=lambda each: each.status != STATUS.NEEDS_ATTENTION)
    rows = [(each, label_of(each), held.get(each.pk, 0)) for each in everything]
    context = {
        "pending": [row for row in rows if row[0].status == STATUS.PENDING],
        "rows": [row for row in rows if row[0].status != STATUS.PENDING],
        "kinds": EVERY_KIND.values(),
    }
    return render(request, "dashboard/destinations.html", context)


@in_organization()
@require_safe
def receiver(request: MemberRequest, receiver_id: str) -> HttpResponse:
    filters = LogFilterForm(request.GET)
    log = log_of(find_receiver(request, receiver_id), test=request.member.forms.test)
    page = deliveries.page_of([filters.narrow(log)], request.GET.get("page", ""))
    found = find_receiver(request, receiver_id)  # after the log: its last poll must show the status that a test left
    context = {
        "receiver": found,
        "held": held_for([found]).get(found.pk, 0),
        "kind_label": label_of(found),
        "is_disabled_by_hand": found.disabled_reason == DISABLED_BY_HAND,
        "both_sign": found.previous_secret_until is not None and found.previous_secret_until > now(),
        "filters": filters,
        "page": page,
        "query": deliveries.query_of(request, "status"),
        "here": deliveries.query_of(request, "status", "page"),
        "log_url": page_of(request, found),
        "is_of_receiver": True,
        "results": recent_results(log),
    }
    if request.headers.get("HX-Request"):
        return render(request, "dashboard/parts/destination_log.html", context)
    context |= {"preview": preview_of_stored(found), "facts": list(_facts(found))}
    return render(request, "dashboard/destination.html", context)


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def activate(request: MemberRequest, receiver_id: str) -> HttpResponse:
    """Activate a receiver and send its held deliveries, or undo that it was disabled just now."""
    found = find_receiver(request, receiver_id)
    kept = undone(request)
    held = held_for([found]).get(found.pk, 0)
    try:
        if kept is not None:
            undo_disabling(found, json.loads(kept))
            messages.success(request, gettext("Undone. The destination and its deliveries are as before."))
        else:
            change = change_webhook if found.is_webhook else change_destination
            found = change(found, {"status": STATUS.ACTIVE.value})
            messages.success(request, is_active_again(held))
            _offer_replay(request, found)
    except ApiError as error:
        messages.error(request, error.message)
    return to_receiver(request, found)


def is_active_again(held: int) -> str:
    """Return the message after an activation that sends so many held deliveries."""
    if not held:
        return gettext("The destination is active. New submissions are sent to it.")
    return ngettext(
        "The destination is active. %(count)s held delivery is being sent.",
        "The destination is active. %(count)s held deliveries are being sent.",
        held,
    ) % {"count": intcomma(held)}


def _offer_replay(request: MemberRequest, found: Receiver) -> None:
    """Say that canceled deliveries are only sent again by a replay."""
    missed = replay(found, since=None, until=None, statuses=[Delivery.Status.CANCELED.value], dry_run=True)[0]
    if not missed:
        return
    page = page_of(request, found, "destination-replay")
    text = ngettext(
        'Canceled deliveries are not sent automatically: {count} is in the log. <a href="{url}">Replay them</a>',
        'Canceled deliveries are not sent automatically: {count} are in the log. <a href="{url}">Replay them</a>',
        missed,
    )
    messages.warning(request, format_html(text, count=intcomma(missed), url=f"{page}?status=canceled"))


@in_organization(Role.ADMIN)
@require_POST
def disable(request: MemberRequest, receiver_id: str) -> HttpResponse:
    found = find_receiver(request, receiver_id)
    waiting = waiting_in_log(found)
    try:
        kept = disable_receiver(found)
    except ApiError as error:
        messages.error(request, error.message)
        return to_receiver(request, found)
    text = " ".join([gettext("The destination is disabled. New submissions are not sent to it."), waiting]).strip()
    address = page_of(request, found, "destination-activate")
    offer_undo(request, text, address=address, later=gettext("Activate"), kept=dump_json(kept))
    return to_receiver(request, found)


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def test(request: MemberRequest, receiver_id: str) -> HttpResponse:
    found = find_receiver(request, receiver_id)
    with reporting(request, gettext("The first entry of the log shows the result of the test.")):
        send_test(found)
    return to_receiver(request, found)


@in_organization(Role.ADMIN)
@fresh_to_open
def rotate(request: MemberRequest, receiver_id: str) -> HttpResponse:
    """Ask, then make a new secret of a webhook and show it once."""
    found = find_receiver(request, receiver_id)
    if not found.is_webhook:
        raise Http404
    until = found.previous_secret_until
    seen = until.isoformat() if until else ""
    if request.method != "POST":
        both_sign = until is not None and until > now()
        context = {"receiver": found, "seen": seen, "both_sign": both_sign, "back": page_of(request, found)}
        return render(request, "dashboard/destination_rotate.html", context)
    if request.POST.get("seen", seen) != seen:  # a reload of the answer must not drop the secret that is still in use
        messages.warning(
            request, gettext("The secret was rotated already. Rotate it again only if you lost the new one.")
        )
        return to_receiver(request, found)
    return show_secret(request, rotate_secret(found), gettext("Secret rotated"))


@in_organization(Role.ADMIN)
def delete(request: MemberRequest, receiver_id: str) -> HttpResponse:
    found = find_receiver(request, receiver_id)
    if request.method != "POST":
        log, waiting, back = size_of_log(found), waiting_in_log(found), page_of(request, found)
        context = {"receiver": found, "kind_label": label_of(found), "log": log, "waiting": waiting, "back": back}
        return render(request, "dashboard/destination_delete.html", context)
    with reporting(request, gettext("The destination and its log are deleted.")):
        delete_receiver(found)
    return redirect("dashboard:destinations", request.member.organization.slug)


@in_organization(Role.ADMIN)
def replay_range(request: MemberRequest, receiver_id: str) -> HttpResponse:
    """Count what a range holds, and send it again when that is confirmed."""
    found = find_receiver(request, receiver_id)
    entered = ReplayForm(request.POST or None, initial={"status": request.GET.get("status", UNDELIVERED)})
    matched = None
    if request.method == "POST" and entered.is_valid():
        values, for_real = entered.cleaned_data, request.POST.get("do") == "replay"
        try:
            statuses = REPLAYABLE[values["status"]]
            since = own_day(values["from"]).start if values["from"] else None
            until = own_day(values["to"]).end if values["to"] else None
            matched, replayed = replay(found, since=since, until=until, statuses=statuses, dry_run=not for_real)
        except ApiError as error:
            entered.add_error(None, error.message)
        else:
            if for_real:
                said = ngettext(
                    "%(count)s delivery is being sent again.", "%(count)s deliveries are being sent again.", replayed
                )
                messages.success(request, said % {"count": intcomma(replayed)})
                return to_receiver(request, found)
    counted = [(name, request.POST.get(name, "")) for name in entered.fields]
    context = {"receiver": found, "form": entered, "matched": matched, "counted": counted, "zone": current_zone()}
    return render(request, "dashboard/destination_replay.html", context, status=400 if entered.errors else 200)


def moved(request: HttpRequest, slug: str, rest: str = "") -> HttpResponse:
    """Redirect an address of webhooks of before 0.4.0; a form that was sent there is sent again to the new one."""
    rest = "new/webhook" if rest == "new" else rest.removesuffix("/url") + "/edit" * rest.endswith("/url")
    found = reverse("dashboard:destinations", args=[slug]) + f"/{rest}" * bool(rest)
    query = request.META["QUERY_STRING"]
    return HttpResponsePermanentRedirect(f"{found}?{query}" if query else found, preserve_request=True)


def label_of(found: Receiver) -> Any:
    return EVERY_KIND[found.kind].label if found.kind in EVERY_KIND else found.kind


def _facts(found: Receiver) -> Iterator[tuple[Any, str]]:
    """Yield label and text of each setting; of secrets their last characters."""
    if found.kind not in EVERY_KIND:
        return
    shown = config_of(found)
    for each in EVERY_KIND[found.kind].inputs:
        if shown.get(each.name):
            yield each.label, _fact(shown[each.name], each.writes)


def _fact(value: Any, writes: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"hint"}:
        return str(value["hint"])
    if isinstance(value, dict) and all(isinstance(one, dict) and one.keys() == {"hint"} for one in value.values()):
        return "\n".join(f"{name}: {one['hint']}" for name, one in value.items())
    return str(writes(value))


def own_receivers(request: MemberRequest) -> QuerySet[Receiver]:
    return Receiver.objects.filter(organization=request.member.organization).select_related("form", "organization")


def find_receiver(request: MemberRequest, receiver_id: str) -> Receiver:
    """Return the receiver with this id, of a webhook or of a destination. Raises Http404."""
    own = own_receivers(request)
    if receiver_id.startswith(Prefix.WEBHOOK):
        return find_own(own.filter(kind=WEBHOOK), Prefix.WEBHOOK, receiver_id)
    return find_own(own.exclude(kind=WEBHOOK), Prefix.DESTINATION, receiver_id)


def page_of(request: MemberRequest, found: Receiver, name: str = "destination") -> str:
    return reverse(f"dashboard:{name}", args=[request.member.organization.slug, found.public_id])


def to_receiver(request: MemberRequest, found: Receiver) -> HttpResponse:
    return redirect(page_of(request, found))


@sensitive_variables("made")
def show_secret(request: MemberRequest, made: Receiver, heading: str) -> HttpResponse:
    """Show the new secret of a webhook, once."""
    return render(request, "dashboard/destination_secret.html", {"receiver": made, "heading": heading})


urlpatterns = [
    path("destinations", receivers, name="destinations"),
    path("destinations/<str:receiver_id>", receiver, name="destination"),
    path("destinations/<str:receiver_id>/activate", activate, name="destination-activate"),
    path("destinations/<str:receiver_id>/disable", disable, name="destination-disable"),
    path("destinations/<str:receiver_id>/test", test, name="destination-test"),
    path("destinations/<str:receiver_id>/rotate", rotate, name="destination-rotate"),
    path("destinations/<str:receiver_id>/delete", delete, name="destination-delete"),
    path("destinations/<str:receiver_id>/replay", replay_range, name="destination-replay"),
    path("webhooks", moved, name="webhooks-moved"),
    path("webhooks/<path:rest>", moved, name="webhook-moved"),
]
