"""The pages of an organization, as the menu lists them and the search finds them."""

import dataclasses
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

from django.utils.translation import get_language, gettext, pgettext

from webhooks.channels.webhook_kind import EVERY_KIND

MAIN: Final = "main"
SETTINGS: Final = "settings"


@dataclasses.dataclass(frozen=True, slots=True)
class MenuPage:
    """
    A page by the name of its address. `section`: its part of the menu; "" for pages that only the search finds.

    `current_on`: patterns of names of other pages (`form*`) on which the menu shows it as the current one. `words`:
    what else people type to find it. `for_managers`: only admins and owners may open it. `guide`: the anchor of the
    part of docs/dashboard.md that explains it.
    """

    name: str
    label: str
    icon: str
    section: str = ""
    current_on: tuple[str, ...] = ()
    words: str = ""
    for_managers: bool = False
    guide: str = ""


def is_among(name: str, patterns: Iterable[str]) -> bool:
    """Return whether the name of an address matches one of these patterns (`form*`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def pages_for(*, may_manage: bool) -> list[MenuPage]:
    """Return the pages that a member may open, in the reader's language."""
    return [page for page in _pages(get_language()) if may_manage or not page.for_managers]


@cache
def _pages(language: str | None) -> tuple[MenuPage, ...]:  # noqa: ARG001 - the texts are of the active one
    """Return all pages, made once for each language: every page of the dashboard asks three times."""
    return *_daily_pages(), *_settings_pages()


def _daily_pages() -> list[MenuPage]:
    submissions = pgettext("words to search for", "spam search")
    creates = pgettext("words to search for", "create add")
    kinds = " ".join(str(kind.label) for kind in EVERY_KIND.values())
    return [
        MenuPage(
            *("overview", gettext("Overview"), "house", MAIN),
            words=pgettext("words to search for", "home chart"),
            guide="overview",
        ),
        MenuPage("forms", gettext("Forms"), "list-checks", MAIN, ("form*", "opt-outs"), guide="forms"),
        MenuPage("form-new", gettext("New form"), "plus", words=creates, guide="a-new-form"),
        MenuPage(
            *("submissions", gettext("Submissions"), "inbox", MAIN, ("submission*", "exports"), submissions),
            guide="submissions",
        ),
        MenuPage(
            *("exports", pgettext("a page", "Export"), "inbox"),
            words=pgettext("words to search for", "csv json download"),
            guide="export",
        ),
        MenuPage(
            *("destinations", gettext("Destinations"), "send", MAIN, ("destination*", "deliver*")),
            words=kinds,
            guide="destinations",
        ),
        MenuPage(
            *("destination-new", gettext("New destination"), "plus"),
            words=f"{creates} {kinds}",
            for_managers=True,
            guide="destinations",
        ),
        MenuPage(
            *("deliveries", gettext("Deliveries"), "webhook"),
            words=pgettext("words to search for", "log mails attempts"),
            guide="deliveries",
        ),
        MenuPage(
            *("refused", pgettext("a page", "Refused"), "shield-alert", MAIN),
            words=pgettext("words to search for", "errors why post"),
            guide="refused",
        ),
    ]


def _settings_pages() -> list[MenuPage]:
    keys = pgettext("words to search for", "api token secret")
    new_key = pgettext("words to search for", "create add api token")
    brand = pgettext("words to search for", "logo accent color hosted pages mails look")
    organization = pgettext("words to search for", "settings rename delete")
    return [
        MenuPage(
            *("keys", gettext("Access Keys"), "key-round", SETTINGS, ("key-*",), keys),
            for_managers=True,
            guide="access-keys",
        ),
        MenuPage("key-new", gettext("Generate New Key"), "plus", words=new_key, for_managers=True, guide="access-keys"),
        MenuPage(
            *("members", gettext("Members"), "users", SETTINGS, ("member-*",)),
            words=pgettext("words to search for", "invite people team"),
            guide="members",
        ),
        MenuPage(
            *("plan", pgettext("a page", "Plan"), "gauge", SETTINGS),
            words=pgettext("words to search for", "limits usage storage"),
            guide="plan",
        ),
        MenuPage(
            *("audit", gettext("Audit trail"), "scroll-text", SETTINGS),
            words=pgettext("words to search for", "history log"),
            for_managers=True,
            guide="audit-trail",
        ),
        MenuPage(
            *("opt-outs", pgettext("a page", "Ended mails"), "send"),
            words=pgettext("words to search for", "unsubscribe opt out reply confirmation list"),
            for_managers=True,
            guide="replies",
        ),
        MenuPage(
            "organization-brand", gettext("Branding"), "building-2", words=brand, for_managers=True, guide="branding"
        ),
        MenuPage(
            *("organization", gettext("Organization"), "building-2", SETTINGS, ("organization-*",), organization),
            for_managers=True,
            guide="organization",
        ),
    ]
