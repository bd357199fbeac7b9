"""Webhooks: their list, their pages, and the actions on them."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Sequence

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, F, OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from config.api.errors import ApiError
from config.ids import Prefix
from config.times import now
from dashboard.access import MemberRequest, find_own, in_organization, reporting
from dashboard.accounts.fresh_login import fresh_to_change, fresh_to_open
from dashboard.accounts.time_zones import current_zone, own_day
from dashboard.changes.sent_once import open_page, sent_once
from dashboard.changes.traffic import log_size
from dashboard.changes.undo import offer_undo, undone
from dashboard.html_forms.webhooks import LogFilterForm, ReplayForm, UrlForm, WebhookForm
from dashboard.limits.costs import expensive
from dashboard.views import deliveries
from keys.models import Role
from webhooks.log_queries import recent_results
from webhooks.models import Delivery, Webhook
from webhooks.registration import (
    DISABLED_BY_HAND,
    change_webhook,
    delete_webhook,
    disable_webhook,
    register_webhook,
    rotate_secret,
    send_test,
    undo_disabling,
)
from webhooks.replays import replay
from webhooks.serializers import REPLAYABLE, UNDELIVERED

STATUS = Webhook.Status
ONCE = "webhook_form"  # session key: tokens of the pages that may make one webhook each


@in_organization()
@require_safe
def webhooks(request: MemberRequest) -> HttpResponse:
    """List the webhooks of all forms, pending ones first."""
    own = Webhook.objects.of_organization(request.member.organization.pk).select_related("form")
    # As a range, and in the order of the index by webhook: with "equal", PostgreSQL walks the primary key backwards
    # until it finds one, past every delivery of the other webhooks.
    last = Delivery.objects.filter(webhook__gte=OuterRef("pk"), webhook__lte=OuterRef("pk"))
    last = last.order_by("webhook_id", "-id")
    own = own.annotate(
        last_status=Subquery(last.values("status")[:1]), last_at=Subquery(last.values("created_at")[:1])
    ).order_by(F("form__name").asc(nulls_first=True), "id")
    everything = list(own)
    pending = [webhook for webhook in everything if webhook.status == STATUS.PENDING]
    held = _held_for(pending)
    context = {
        "pending": [(webhook, held[webhook.pk]) for webhook in pending],
        "registered": [webhook for webhook in everything if webhook.status != STATUS.PENDING],
    }
    return render(request, "dashboard/webhooks.html", context)


def _held_for(pending: Sequence[Webhook]) -> "Counter[uuid.UUID | None]":
    """Return the number of held deliveries of each; logs have millions of rows, held ones are few."""
    held = Delivery.objects.filter(webhook__in=pending, status=Delivery.Status.HELD).order_by()
    return Counter(dict(held.values_list("webhook").annotate(waiting=Count("pk"))))


@in_organization(Role.ADMIN)
@fresh_to_open
@sensitive_variables("made")
def new_webhook(request: MemberRequest) -> HttpResponse:
    """Ask for form and URL, register the webhook, show its secret once."""
    organization = request.member.organization
    entered = WebhookForm(
        request.POST or None, organization=organization, initial={"form": request.GET.get("form", "")}
    )
    if request.method == "POST" and entered.is_valid():
        with sent_once(request, ONCE) as is_first:
            if not is_first:
                said = gettext("The webhook was created already and is in the list. Rotate its secret to see a secret.")
                messages.warning(request, said)
                return redirect("dashboard:webhooks", organization.slug)
            form = entered.cleaned_data["form"]
            try:
                made = register_webhook(
                    form=form,
                    all_forms_of=None if form else organization,
                    url=entered.cleaned_data["url"],
                    events=entered.chosen_events(),
                )
            except ApiError as error:
                entered.add_error("url", error.field_message)
            else:
                return _show_secret(request, made, gettext("Webhook created"))
    context = {"form": entered, "once": open_page(request, ONCE)}
    return render(request, "dashboard/webhook_new.html", context, status=400 if entered.errors else 200)


@in_organization()
@require_safe
def webhook(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Show a webhook, its actions, and its log."""
    found = _find(request, webhook_id)
    return _show(request, found, UrlForm(initial={"url": found.url}))


def _show(request: MemberRequest, found: Webhook, url_form: UrlForm) -> HttpResponse:
    filters = LogFilterForm(request.GET)
    log = filters.narrow(Delivery.objects.filter(webhook=found))
    context = {
        "webhook": found,
        "both_sign": found.previous_secret_until is not None and found.previous_secret_until > now(),
        "disabled_by_hand": found.disabled_reason == DISABLED_BY_HAND,
        "filters": filters,
        "page": deliveries.page_of([log], request.GET.get("page", "")),
        "query": deliveries.query_of(request, "status"),
        "here": deliveries.query_of(request, "status", "page"),
        "log_url": reverse("dashboard:webhook", args=[request.member.organization.slug, found.public_id]),
        "log_of": "webhook",
        "url_form": url_form,
    }
    context["results"] = recent_results(found)  # after the log, so that its last poll shows what the log shows
    if request.headers.get("HX-Request"):
        return render(request, "dashboard/parts/webhook_log.html", context)
    return render(request, "dashboard/webhook.html", context, status=400 if url_form.errors else 200)


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def change_url(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Send to another URL from now on."""
    found = _find(request, webhook_id)
    entered = UrlForm(request.POST)
    if entered.is_valid():
        try:
            change_webhook(found, {"url": entered.cleaned_data["url"]})
        except ApiError as error:
            entered.add_error("url", error.field_message)
        else:
            messages.success(request, gettext("Saved. The next delivery goes to the new URL."))
            return _to(request, found)
    return _show(request, found, entered)


@in_organization(Role.ADMIN)
@require_POST
@fresh_to_change
def activate(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Activate a webhook, or undo that it was disabled just now."""
    found = _find(request, webhook_id)
    since = undone(request)
    try:
        if since is None:
            _activate(request, found)
        else:
            restored = undo_disabling(found, dt.datetime.fromisoformat(since))
            messages.success(request, _active_again(restored))
    except ApiError as error:
        messages.error(request, error.message)
    return _to(request, found)


def _activate(request: MemberRequest, found: Webhook) -> None:
    """Activate. Held deliveries of a pending one are sent; canceled ones are only offered for a replay."""
    was, held = found.status, _held_for([found])[found.pk]
    found = change_webhook(found, {"status": STATUS.ACTIVE.value})
    missed = replay(found, since=None, until=None, statuses=[Delivery.Status.CANCELED.value], dry_run=True)[0]
    if was == STATUS.PENDING and held:
        sent = ngettext(
            "The webhook is active. %(count)s held delivery is being sent.",
            "The webhook is active. %(count)s held deliveries are being sent.",
            held,
        )
        messages.success(request, sent % {"count": intcomma(held)})
    else:
        messages.success(request, gettext("The webhook is active. New submissions are sent to it."))
    if missed:
        messages.warning(request, _offer_of_replay(request, found, missed))


def _active_again(restored: int) -> str:
    if not restored:
        return gettext("The webhook is active again.")
    return ngettext(
        "The webhook is active again. %(count)s delivery that waits is being sent.",
        "The webhook is active again. %(count)s deliveries that wait are being sent.",
        restored,
    ) % {"count": intcomma(restored)}


def _offer_of_replay(request: MemberRequest, found: Webhook, missed: int) -> str:
    page = reverse("dashboard:webhook-replay", args=[request.member.organization.slug, found.public_id])
    text = ngettext(
        'Canceled deliveries are not sent automatically: {count} is in the log. <a href="{url}">Replay them</a>',
        'Canceled deliveries are not sent automatically: {count} are in the log. <a href="{url}">Replay them</a>',
        missed,
    )
    return format_html(text, count=intcomma(missed), url=f"{page}?status=canceled")


@in_organization(Role.ADMIN)
@require_POST
def disable(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Disable a webhook, and offer to undo that. Deliveries created meanwhile can be replayed."""
    found = _find(request, webhook_id)
    waiting = log_size(found).waiting
    try:
        _, before = disable_webhook(found)
    except ApiError as error:
        messages.error(request, error.message)
        return _to(request, found)
    text = " ".join([gettext("The webhook is disabled. New submissions are not sent to it."), waiting]).strip()
    address = reverse("dashboard:webhook-activate", args=[request.member.organization.slug, found.public_id])
    offer_undo(request, text, address=address, later=gettext("Activate"), kept=before.isoformat())
    return _to(request, found)


@in_organization(Role.ADMIN)
@require_POST
@expensive()
def test(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Send an example submission, marked as a test."""
    found = _find(request, webhook_id)
    with reporting(request, gettext("The first entry of the log shows the result of the test event.")):
        send_test(found)
    return _to(request, found)


@in_organization(Role.ADMIN)
@fresh_to_open
def rotate(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Ask, then make a new secret and show it once."""
    found = _find(request, webhook_id)
    until = found.previous_secret_until
    seen = until.isoformat() if until else ""
    if request.method != "POST":
        context = {"webhook": found, "act": "rotate", "seen": seen, "both_sign": until is not None and until > now()}
        return render(request, "dashboard/webhook_confirm.html", context)
    if request.POST.get("seen", seen) != seen:  # a reload of the answer must not drop the secret that is still in use
        messages.warning(
            request, gettext("The secret was rotated already. Rotate it again only if you lost the new one.")
        )
        return _to(request, found)
    return _show_secret(request, rotate_secret(found), gettext("Secret rotated"))


@in_organization(Role.ADMIN)
def delete(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Ask, then delete the webhook with its log."""
    found = _find(request, webhook_id)
    if request.method != "POST":
        context = {"webhook": found, "act": "delete", "log": log_size(found)}
        return render(request, "dashboard/webhook_confirm.html", context)
    with reporting(request, gettext("The webhook and its log are deleted.")):
        delete_webhook(found)
    return redirect("dashboard:webhooks", request.member.organization.slug)


@in_organization(Role.ADMIN)
def replay_range(request: MemberRequest, webhook_id: str) -> HttpResponse:
    """Count what a range holds, and send it again when that is confirmed."""
    found = _find(request, webhook_id)
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
                return _to(request, found)
    counted = [(name, request.POST.get(name, "")) for name in entered.fields]
    context = {"webhook": found, "form": entered, "matched": matched, "counted": counted, "zone": current_zone()}
    return render(request, "dashboard/webhook_replay.html", context, status=400 if entered.errors else 200)


def _find(request: MemberRequest, webhook_id: str) -> Webhook:
    own = Webhook.objects.of_organization(request.member.organization.pk).select_related("form")
    return find_own(own, Prefix.WEBHOOK, webhook_id)


def _to(request: MemberRequest, found: Webhook) -> HttpResponse:
    return redirect("dashboard:webhook", request.member.organization.slug, found.public_id)


@sensitive_variables("made")
def _show_secret(request: MemberRequest, made: Webhook, heading: str) -> HttpResponse:
    return render(request, "dashboard/webhook_secret.html", {"webhook": made, "heading": heading})


urlpatterns = [
    path("webhooks", webhooks, name="webhooks"),
    path("webhooks/new", new_webhook, name="webhook-new"),
    path("webhooks/<str:webhook_id>", webhook, name="webhook"),
    path("webhooks/<str:webhook_id>/url", change_url, name="webhook-url"),
    path("webhooks/<str:webhook_id>/activate", activate, name="webhook-activate"),
    path("webhooks/<str:webhook_id>/disable", disable, name="webhook-disable"),
    path("webhooks/<str:webhook_id>/test", test, name="webhook-test"),
    path("webhooks/<str:webhook_id>/rotate", rotate, name="webhook-rotate"),
    path("webhooks/<str:webhook_id>/delete", delete, name="webhook-delete"),
    path("webhooks/<str:webhook_id>/replay", replay_range, name="webhook-replay"),
]
