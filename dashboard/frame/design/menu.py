"""The pages of an organization, as the menu lists them and the search finds them."""

import dataclasses
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, pgettext_lazy

from dashboard.access import Member
from keys.models import Role
from webhooks.kinds.webhook import EVERY_KIND

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAIN: Final = "main"
SETTINGS: Final = "settings"


@dataclasses.dataclass(frozen=True, slots=True)
class MenuPage:
    """
    A page by the name of its address. `guide`: the anchor of the part of docs/dashboard.md that explains it.
    `section`: its part of the menu; "" for pages that only the search finds.

    `current_on`: patterns of names of other pages (`form*`) on which the menu shows it as the current one. `words`:
    what else people type to find it. `role`: who may open it, and everybody above.
    `of_forms`: so may members who see chosen forms only.
    """

    name: str
    label: "StrOrPromise"
    icon: str
    guide: str
    section: str = ""
    current_on: tuple[str, ...] = ()
    words: "StrOrPromise" = ""
    role: Role = Role.VIEWER
    of_forms: bool = False


CREATES = pgettext_lazy("words to search for", "create add")
KINDS = lazy(lambda: " ".join(str(kind.label) for kind in EVERY_KIND.values()), str)()
PAGES = (
    MenuPage(
        *("overview", gettext_lazy("Overview"), "house", "overview", MAIN),
        words=pgettext_lazy("words to search for", "home chart"),
        of_forms=True,
    ),
    MenuPage("forms", gettext_lazy("Forms"), "list-checks", "forms", MAIN, ("form*", "opt-outs"), of_forms=True),
    MenuPage("form-new", gettext_lazy("New form"), "plus", "a-new-form", words=CREATES, role=Role.MEMBER),
    MenuPage(
        *("submissions", gettext_lazy("Submissions"), "inbox", "submissions", MAIN, ("submission*", "exports")),
        words=pgettext_lazy("words to search for", "spam search"),
        of_forms=True,
    ),
    MenuPage(
        *("exports", pgettext_lazy("a page", "Export"), "inbox", "export"),
        words=pgettext_lazy("words to search for", "csv json download"),
        of_forms=True,
    ),
    MenuPage(
        *("destinations", gettext_lazy("Destinations"), "send", "destinations", MAIN, ("destination*", "deliver*")),
        words=KINDS,
    ),
    MenuPage(
        *("destination-new", gettext_lazy("New destination"), "plus", "destinations"),
        words=format_lazy("{} {}", CREATES, KINDS),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("deliveries", gettext_lazy("Deliveries"), "webhook", "deliveries"),
        words=pgettext_lazy("words to search for", "log mails attempts"),
        of_forms=True,
    ),
    MenuPage(
        *("refused", pgettext_lazy("a page", "Refused"), "shield-alert", "refused", MAIN),
        words=pgettext_lazy("words to search for", "errors why post"),
        of_forms=True,
    ),
    MenuPage(
        *("keys", gettext_lazy("Access Keys"), "key-round", "access-keys", SETTINGS, ("key-*",)),
        words=pgettext_lazy("words to search for", "api token secret"),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("key-new", gettext_lazy("Generate New Key"), "plus", "access-keys"),
        words=pgettext_lazy("words to search for", "create add api token"),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("members", gettext_lazy("Members"), "users", "members", SETTINGS, ("member-*",)),
        words=pgettext_lazy("words to search for", "invite people team"),
    ),
    MenuPage(
        *("plan", pgettext_lazy("a page", "Plan"), "gauge", "plan", SETTINGS),
        words=pgettext_lazy("words to search for", "limits usage storage"),
    ),
    MenuPage(
        *("audit", gettext_lazy("Audit trail"), "scroll-text", "audit-trail", SETTINGS),
        words=pgettext_lazy("words to search for", "history log"),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("opt-outs", pgettext_lazy("a page", "Ended mails"), "send", "replies"),
        words=pgettext_lazy("words to search for", "unsubscribe opt out reply confirmation list"),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("organization-brand", gettext_lazy("Branding"), "building-2", "branding"),
        words=pgettext_lazy("words to search for", "logo accent color hosted pages mails look"),
        role=Role.ADMIN,
    ),
    MenuPage(
        *("organization", gettext_lazy("Organization"), "building-2", "organization", SETTINGS, ("organization-*",)),
        words=pgettext_lazy("words to search for", "settings rename delete"),
        role=Role.ADMIN,
    ),
)


def is_among(name: str, patterns: Iterable[str]) -> bool:
    """Return whether the name of an address matches one of these patterns (`form*`)."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def pages_for(member: Member) -> list[MenuPage]:
    return [page for page in PAGES if member.is_at_least(page.role) and (page.of_forms or not member.is_limited)]
