"""Filters and tags of the dashboard's templates."""

import datetime as dt
from functools import cache
from typing import Any

from django import forms, template
from django.conf import settings
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.forms import BoundField
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy

from dashboard.access import Member
from dashboard.accounts.devices import device_name
from dashboard.accounts.passkey_host import PasskeyHost, passkey_host
from dashboard.accounts.time_zones import exact
from dashboard.changes.undo import Offer, take_offer
from dashboard.delivery_story import takes_deliveries, target_of
from dashboard.design.icons import ICONS, SPRITE
from dashboard.design.menu import is_among, pages_for
from dashboard.design.surroundings import Surroundings, destinations_waiting, surroundings_of
from dashboard.design.words import words_of_scripts, words_on_passkeys
from dashboard.guides.screens import address_for
from dashboard.laptop_mails.mailbox import has_mailbox
from forms_app.field_kinds import kind_of
from keys.choices import within_sentence

register = template.Library()
register.filter("within_sentence", within_sentence)

# The color of a state. The word next to it says the same, for users who do not see colors.
LOOKS = {
    "published": "good", "delivered": "good", "active": "good", "accepted": "good",
    "clean": "good", "infected": "bad",
    "failed": "bad", "disabled": "bad", "revoked": "bad", "expired": "bad", "spam": "bad", "refused": "bad",
    "held": "warn", "canceled": "warn", "archived": "warn", "needs_attention": "warn",
    "pending": "calm", "draft": "calm",
}  # fmt: skip
WORDS = {
    "published": pgettext_lazy("a state", "Published"),
    "delivered": pgettext_lazy("a state", "Delivered"),
    "active": pgettext_lazy("a state", "Active"),
    "accepted": pgettext_lazy("a state", "Accepted"),
    "failed": pgettext_lazy("a state", "Failed"),
    "disabled": pgettext_lazy("a state", "Disabled"),
    "revoked": pgettext_lazy("a state", "Revoked"),
    "expired": pgettext_lazy("a state", "Expired"),
    "spam": pgettext_lazy("a state", "Spam"),
    "refused": pgettext_lazy("a state", "Refused"),
    "held": pgettext_lazy("a state", "Held"),
    "needs_attention": pgettext_lazy("a state", "Needs attention"),
    "canceled": pgettext_lazy("a state", "Canceled"),
    "archived": pgettext_lazy("a state", "Archived"),
    "pending": pgettext_lazy("a state", "Pending"),
    "clean": pgettext_lazy("a state", "Clean"),
    "infected": pgettext_lazy("a state", "Infected"),
    "draft": pgettext_lazy("a state", "Draft"),
}
CLASSES = {forms.CheckboxInput: "form-check-input", forms.Select: "form-select"}


@register.filter
def styled(field: BoundField) -> SafeString:
    """Return the control of a field with the class for its type."""
    widget = field.field.widget
    if isinstance(widget, forms.RadioSelect | forms.CheckboxSelectMultiple):
        return field.as_widget(attrs={"class": "form-check-input"})
    kind = next((name for base, name in CLASSES.items() if isinstance(widget, base)), "form-control")
    given = widget.attrs.get("class", "")
    return field.as_widget(attrs={"class": f"{kind} {given}".strip()})


register.filter("target", target_of)
register.filter("last_of", lambda rows: next(reversed(list(rows)), None))  # of prefetched rows, without a query
register.filter("is_open", takes_deliveries)
register.filter("device", device_name)
register.filter("exact", exact)
register.filter("type_name", lambda name: kind_of(name).label)


@register.simple_tag(name="passkey_host", takes_context=True)
def passkey_host_of(context: template.RequestContext) -> PasskeyHost:
    """Return whether the page was opened where passkeys work."""
    return passkey_host(context["request"])


@register.simple_tag
def mails_are_printed() -> bool:
    """Return whether there is no mail server, as after `make run`: mails are in the terminal of the service."""
    return str(settings.EMAIL_URL).startswith("consolemail:")


register.simple_tag(has_mailbox)


@register.filter
def is_checkbox(field: BoundField) -> bool:
    """Return whether the field is a checkbox, which comes before its label."""
    return isinstance(field.field.widget, forms.CheckboxInput)


@register.filter
def is_group(field: BoundField) -> bool:
    """Return whether the field has several controls and one legend."""
    return bool(field.use_fieldset)


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
    """Show a state as a colored word."""
    return {"look": LOOKS.get(value, ""), "label": str(label or WORDS.get(value, value.capitalize()))}


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
        msg = f"{name!r} is not in dashboard/design/icons.py"
        raise template.TemplateSyntaxError(msg)
    return _icon(static(SPRITE), name)


@cache
def _icon(sprite: str, name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', sprite, name)


@register.simple_tag
def script_words() -> SafeString:
    """Give the scripts of every page their texts, as JSON."""
    return json_script(words_of_scripts(), "words")


@register.simple_tag
def passkey_words() -> SafeString:
    """Give the script of passkeys its texts, as JSON."""
    return json_script(words_on_passkeys(), "passkey-words")


@register.simple_tag(takes_context=True)
def surroundings(context: dict[str, Any]) -> Surroundings:
    return surroundings_of(context["request"])


@register.inclusion_tag("dashboard/parts/nav_links.html", takes_context=True)
def nav(context: dict[str, Any], section: str) -> dict[str, Any]:
    """Show the links of a section of the menu."""
    member: Member = context["member"]
    pages = [page for page in pages_for(may_manage=member.may_manage) if page.section == section]
    waiting = destinations_waiting(member) if any(page.name == "destinations" for page in pages) else 0
    addresses = [reverse(f"dashboard:{page.name}", args=[member.organization.slug]) for page in pages]
    return {
        "links": [
            {
                **_link(context, (page.name, *page.current_on), address),
                "page": page,
                "waiting": waiting if page.name == "destinations" else 0,
            }
            for page, address in zip(pages, addresses, strict=True)
        ]
    }


@register.inclusion_tag("dashboard/parts/tab.html", takes_context=True)
def form_tab(context: dict[str, Any], name: str, label: str) -> dict[str, Any]:
    """Show a tab of the pages of one form."""
    address = reverse(f"dashboard:{name}", args=[context["member"].organization.slug, context["form"].public_id])
    return {**_link(context, (name,), address), "label": label}


@register.inclusion_tag("dashboard/parts/guide_link.html", takes_context=True)
def guide_link(context: dict[str, Any]) -> dict[str, str]:
    """Show a link to the part of the guides about this screen."""
    match = context["request"].resolver_match
    return {"address": address_for(match.url_name or "" if match else "")}


def _link(context: dict[str, Any], patterns: tuple[str, ...], address: str) -> dict[str, Any]:
    match = context["request"].resolver_match
    # Only pages of the dashboard: addresses of accounts have the same names.
    here = match.url_name or "" if match and match.app_name == "dashboard" else ""
    return {"address": address, "is_current": is_among(here, patterns)}


@register.simple_tag(takes_context=True)
def undo_offer(context: dict[str, Any]) -> Offer | None:
    """Return the offer to undo the last change, once."""
    request = context.get("request")
    return take_offer(request) if request is not None and hasattr(request, "session") else None


@register.simple_block_tag
def unindented(content: SafeString) -> SafeString:
    """Leave out indentation and empty lines of parts that a page repeats: it is not compressed (docs/adr/0061)."""
    lines = (line.strip() for line in content.splitlines())
    return SafeString("\n".join(line for line in lines if line))
