"""The pages of an organization, as the menu lists them and the search finds them."""

import dataclasses
from typing import Final

MAIN: Final = "main"
SETTINGS: Final = "settings"


@dataclasses.dataclass(frozen=True, slots=True)
class MenuPage:
    """
    A page by the name of its address. `section`: its part of the menu; "" for pages that only the search finds.

    `current_on`: patterns of names of other pages (`form*`) on which the menu shows it as the current one. `words`:
    what else people type to find it. `for_managers`: only admins and owners may open it.
    """

    name: str
    label: str
    icon: str
    section: str = ""
    current_on: tuple[str, ...] = ()
    words: str = ""
    for_managers: bool = False


PAGES = (
    MenuPage("overview", "Overview", "house", MAIN, words="home chart"),
    MenuPage("forms", "Forms", "list-checks", MAIN, ("form*",)),
    MenuPage("form-new", "New form", "plus", words="create add"),
    MenuPage("submissions", "Submissions", "inbox", MAIN, ("submission*", "exports"), "spam search"),
    MenuPage("exports", "Export", "inbox", words="csv json download"),
    MenuPage("webhooks", "Webhooks", "webhook", MAIN, ("webhook*", "deliver*")),
    MenuPage("webhook-new", "New webhook", "plus", words="create add", for_managers=True),
    MenuPage("deliveries", "Deliveries", "webhook", words="log mails attempts"),
    MenuPage("refused", "Refused", "shield-alert", MAIN, words="errors why post"),
    MenuPage("keys", "Access Keys", "key-round", SETTINGS, ("key-*",), "api token secret", for_managers=True),
    MenuPage("key-new", "Generate New Key", "plus", words="create add api token", for_managers=True),
    MenuPage("members", "Members", "users", SETTINGS, ("member-*",), "invite people team"),
    MenuPage("plan", "Plan", "gauge", SETTINGS, words="limits usage storage"),
    MenuPage("audit", "Audit trail", "scroll-text", SETTINGS, words="history log", for_managers=True),
    MenuPage(
        "organization-brand",
        "Branding",
        "building-2",
        words="logo accent color hosted pages mails look",
        for_managers=True,
    ),
    MenuPage(
        *("organization", "Organization", "building-2", SETTINGS, ("organization-*",), "settings rename delete"),
        for_managers=True,
    ),
)


def pages_for(*, may_manage: bool) -> list[MenuPage]:
    """Return the pages that a member may open."""
    return [page for page in PAGES if may_manage or not page.for_managers]
