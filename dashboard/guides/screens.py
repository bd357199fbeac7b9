"""Which part of the guides explains a screen of the dashboard."""

from django.urls import reverse

# By the name of the address. A name that is not here has no part: dashboard.md as a whole.
SECTIONS = {
    "find": "search-and-keys",
    "overview": "overview",
    "forms": "forms",
    "form-new": "a-new-form",
    "form-new-html": "fields-from-html",
    "form-html": "fields-from-html",
    "form": "a-form",
    "form-archive": "a-form",
    "form-erase": "a-form",
    "form-build": "the-builder",
    "form-settings": "settings-of-a-form",
    "form-page": "the-page-of-a-form",
    "form-spam": "spam-rules",
    "form-replies": "replies",
    "opt-outs": "replies",
    "form-notifications": "notifications",
    "submissions": "submissions",
    "submission": "a-submission",
    "exports": "export",
    "webhooks": "webhooks",
    "webhook": "webhooks",
    "webhook-new": "webhooks",
    "webhook-delete": "webhooks",
    "webhook-replay": "webhooks",
    "webhook-rotate": "webhooks",
    "deliveries": "deliveries",
    "destinations": "destinations",
    "destination": "destinations",
    "destination-new": "destinations",
    "destination-new-kind": "destinations",
    "destination-edit": "destinations",
    "destination-delete": "destinations",
    "refused": "refused",
    "keys": "access-keys",
    "key-new": "access-keys",
    "key-regenerate": "access-keys",
    "key-revoke": "access-keys",
    "members": "members",
    "member-leave": "members",
    "member-remove": "members",
    "plan": "plan",
    "audit": "audit-trail",
    "organization": "organization",
    "organization-brand": "branding",
    "organization-end": "organization",
    "account": "your-account",
    "account-time-zone": "your-account",
    "account-delete": "your-account",
}


def address_for(screen: str) -> str:
    """Return the address of the part of the guides about a screen, by the name of the screen's address."""
    page = reverse("guides:page", args=["dashboard"])
    return f"{page}#{SECTIONS[screen]}" if screen in SECTIONS else page
