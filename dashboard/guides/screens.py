"""Which part of the guides explains a screen of the dashboard."""

from django.urls import reverse

from dashboard.frame.design.menu import PAGES, is_among

# Screens by the name of their address that neither their own row of the menu explains, nor that of the page on which
# the menu shows them. "": dashboard.md as a whole.
PARTS = {
    "find": "search-and-keys",
    "form-new-html": "fields-from-html",
    "form-html": "fields-from-html",
    "form-new-file": "forms-from-files",
    "form": "a-form",
    "form-archive": "a-form",
    "form-erase": "a-form",
    "form-build": "the-builder",
    "form-settings": "settings-of-a-form",
    "form-page": "the-page-of-a-form",
    "form-spam": "spam-rules",
    "form-replies": "replies",
    "form-notifications": "notifications",
    "submission": "a-submission",
    "organization-new": "",
    "account": "your-account",
    "account-time-zone": "your-account",
    "account-delete": "your-account",
}


def part_about(screen: str) -> str:
    """Return the anchor of the part of docs/dashboard.md about a screen, "" for none."""
    parts = PARTS | {page.name: page.guide for page in PAGES}
    around = (page.guide for page in PAGES if is_among(screen, page.current_on))
    return parts[screen] if screen in parts else next(around, "")


def address_for(screen: str) -> str:
    """Return the address of the part of the guides about a screen, by the name of the screen's address."""
    page, part = reverse("guides:page", args=["dashboard"]), part_about(screen)
    return f"{page}#{part}" if part else page
