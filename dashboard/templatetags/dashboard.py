"""Filters and tags of the dashboard's templates."""

import datetime as dt
from functools import cache
from typing import Any

from django import template
from django.conf import settings
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.forms import BoundField
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy

from dashboard.access import Member, last_visited
from dashboard.accounts.devices import device_name
from dashboard.accounts.passkey_host import passkey_host
from dashboard.accounts.time_zones import exact
from dashboard.delivery_story import takes_deliveries, target_of
from dashboard.frame.changes.undo import take_offer
from dashboard.frame.design.icons import ICONS, SPRITE
from dashboard.frame.design.menu import is_among, pages_for
from dashboard.frame.design.words import words_of_scripts, words_on_passkeys
from dashboard.guides.screens import address_for
from dashboard.pages.laptop_mails.mailbox import has_mailbox
from forms_app.field_kinds import kind_of
from keys.choices import within_sentence
from keys.models import Organization
from webhooks.receivers.actions import needing_attention

register = template.Library()
register.filter("within_sentence", within_sentence)

# The color and the word of a state: the word says the same, for users who do not see colors.
STATES = {
    "published": ("good", pgettext_lazy("a state", "Published")),
    "delivered": ("good", pgettext_lazy("a state", "Delivered")),
    "active": ("good", pgettext_lazy("a state", "Active")),
    "accepted": ("good", pgettext_lazy("a state", "Accepted")),
    "clean": ("good", pgettext_lazy("a state", "Clean")),
    "infected": ("bad", pgettext_lazy("a state", "Infected")),
    "failed": ("bad", pgettext_lazy("a state", "Failed")),
    "disabled": ("bad", pgettext_lazy("a state", "Disabled")),
    "revoked": ("bad", pgettext_lazy("a state", "Revoked")),
    "expired": ("bad", pgettext_lazy("a state", "Expired")),
    "spam": ("bad", pgettext_lazy("a state", "Spam")),
    "refused": ("bad", pgettext_lazy("a state", "Refused")),
    "held": ("warn", pgettext_lazy("a state", "Held")),
    "canceled": ("warn", pgettext_lazy("a state", "Canceled")),
    "archived": ("warn", pgettext_lazy("a state", "Archived")),
    "needs_attention": ("warn", pgettext_lazy("a state", "Needs attention")),
    "pending": ("calm", pgettext_lazy("a state", "Pending")),
    "recorded": ("calm", pgettext_lazy("a state", "Recorded")),
    "draft": ("calm", pgettext_lazy("a state", "Draft")),
}
FOLDED = ("fieldpost_menu", "folded")  # a cookie that the fold button sets, so that no page is drawn twice


@register.filter
def styled(field: BoundField) -> SafeString:
    """Return the control of a field with the class for its type."""
    kind = {"checkbox": "form-check-input", "select": "form-select"}.get(field.widget_type, "form-control")
    given = field.field.widget.attrs.get("class", "")
    return field.as_widget(attrs={"class": f"{kind} {given}".strip()})


register.filter("target", target_of)
register.filter("last_of", lambda rows: next(reversed(list(rows)), None))  # of prefetched rows, without a query
register.filter("is_open", takes_deliveries)
register.filter("device", device_name)
register.filter("exact", exact)
register.filter("type_name", lambda name: kind_of(name).label)
register.filter("is_checkbox", lambda field: field.widget_type == "checkbox")
register.simple_tag(has_mailbox)
register.simple_tag(lambda context: passkey_host(context["request"]), name="passkey_host", takes_context=True)
register.simple_tag(lambda: json_script(words_of_scripts(), "words"), name="script_words")
register.simple_tag(lambda: json_script(words_on_passkeys(), "passkey-words"), name="passkey_words")


@register.simple_tag
def mails_are_printed() -> bool:
    """Return whether there is no mail server, as after `make run`: mails are in the terminal of the service."""
    return str(settings.EMAIL_URL).startswith("consolemail:")


@register.simple_tag
def when(moment: dt.datetime | None, otherwise: str = "") -> SafeString:
    """Show a time relative to now, with the full time and its zone on hover; `otherwise`, or "never", for None."""
    if moment is None:
        return format_html('<span class="quiet">{}</span>', otherwise or gettext("never"))
    return format_html('<time datetime="{}" title="{}">{}</time>', stamp(moment), exact(moment), naturaltime(moment))


@register.filter
def stamp(moment: dt.datetime) -> str:
    """Return a time as the attribute `datetime` takes it. It is short: a list has one in each row."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.inclusion_tag("dashboard/parts/state.html")
def state(value: str, label: str = "") -> dict[str, str]:
    look, word = STATES.get(value, ("", value.capitalize()))
    return {"look": look, "label": str(label or word)}


@register.inclusion_tag("dashboard/parts/columns.html")
def columns(*labels: str) -> dict[str, Any]:
    """Show the head of a table: a column of numbers is labeled `#Count`, one of buttons has an empty label."""
    return {"columns": [(label.removeprefix("#"), label.startswith("#")) for label in labels]}


@register.inclusion_tag("dashboard/parts/snippet.html")
def snippet(text: str | list[str], label: str, wraps: bool = False) -> dict[str, Any]:
    """Show a text, or lines, with a button that copies it."""
    return {"text": text if isinstance(text, str) else "\n".join(text), "label": label, "wraps": wraps}


@register.simple_tag
def icon(name: str) -> SafeString:
    """Show an icon of the sprite; the text next to it, or the button's label, says the same."""
    if name not in ICONS:
        msg = f"{name!r} is not in dashboard/frame/design/icons.py"
        raise template.TemplateSyntaxError(msg)
    return _icon(static(SPRITE), name)


@cache
def _icon(sprite: str, name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', sprite, name)


@register.simple_tag(takes_context=True)
def surroundings(context: dict[str, Any]) -> dict[str, Any]:
    """
    Return the menu of the organization that the page is in, or of the one that the user visited last: its `member`,
    None without an organization, the user's `others`, and whether it `is_folded`.
    """
    request = context["request"]
    member = getattr(request, "member", None) or last_visited(request)
    if member is None:
        return {"member": None, "others": Organization.objects.none(), "is_folded": False}
    others = Organization.objects.filter(memberships__user=member.user).exclude(pk=member.organization.pk)
    name, value = FOLDED
    return {"member": member, "others": others.order_by("name"), "is_folded": request.COOKIES.get(name) == value}


@register.inclusion_tag("dashboard/parts/nav_links.html", takes_context=True)
def nav(context: dict[str, Any], section: str) -> dict[str, Any]:
    member: Member = context["member"]
    links = []
    for page in pages_for(member):
        if page.section == section:
            address = reverse(f"dashboard:{page.name}", args=[member.organization.slug])
            links.append({**_link(context, (page.name, *page.current_on), address), "page": page})
            if page.name == "destinations" and member.may_manage:
                links[-1]["waiting"] = needing_attention(member.organization).count()
    return {"links": links}


@register.inclusion_tag("dashboard/parts/tab.html", takes_context=True)
def form_tab(context: dict[str, Any], name: str, label: str) -> dict[str, Any]:
    address = reverse(f"dashboard:{name}", args=[context["member"].organization.slug, context["form"].public_id])
    return {**_link(context, (name,), address), "label": label}


@register.inclusion_tag("dashboard/parts/guide_link.html", takes_context=True)
def guide_link(context: dict[str, Any]) -> dict[str, str]:
    match = context["request"].resolver_match
    return {"address": address_for(match.url_name or "" if match else "")}


def _link(context: dict[str, Any], patterns: tuple[str, ...], address: str) -> dict[str, Any]:
    match = context["request"].resolver_match
    # Only pages of the dashboard: addresses of accounts have the same names.
    here = match.url_name or "" if match and match.app_name == "dashboard" else ""
    return {"address": address, "is_current": is_among(here, patterns)}


@register.simple_tag(takes_context=True)
def undo_offer(context: dict[str, Any]) -> dict[str, str] | None:
    """Return the offer to undo the last change, once."""
    request = context.get("request")
    return take_offer(request) if request is not None and hasattr(request, "session") else None


@register.simple_block_tag
def unindented(content: SafeString) -> SafeString:
    """Leave out indentation and empty lines of parts that a page repeats: it is not compressed (docs/adr/0061)."""
    lines = (line.strip() for line in content.splitlines())
    return SafeString("\n".join(line for line in lines if line))
