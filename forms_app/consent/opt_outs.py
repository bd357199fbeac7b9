"""
Addresses that want no more mails about what they submitted to an organization (docs/contract.md 10).

The link in each of these mails is a token that only we can read: it says the organization and the address, so it works
as long as the organization exists, and a log that has it names nobody.
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from config.base.ids import Prefix, decode_id, encode_id
from config.secrets.encryption import PREFIX, CannotDecrypt, decrypt, encrypt
from forms_app.consent.addresses import is_single_address, mailbox_of
from forms_app.consent.recipients import LinkInvalid
from forms_app.models import ENGLISH, OptOut
from keys.audit import record_event
from keys.models import Organization

_PURPOSE = "opt-out"
MAX_TOKEN = 1000  # characters


def opt_out_url(organization_id: uuid.UUID, address: str, language: str) -> str:
    """Return the address of the page on which a submitter ends an organization's mails to them."""
    secret = encrypt(" ".join((_PURPOSE, encode_id(Prefix.ORGANIZATION, organization_id), language, address)))
    return f"{settings.PAGES_URL or settings.PUBLIC_URL}/f/no-mails/{secret.removeprefix(PREFIX)}"


@dataclass(frozen=True, slots=True)
class Link:
    """A submitter's link: whose mails it ends, for which mailbox, and the language of its page."""

    organization: Organization
    email: str
    language: str = ENGLISH

    @property
    def is_used(self) -> bool:
        return OptOut.objects.filter(organization=self.organization, email=self.email).exists()


def find_link(token: str) -> Link:
    """Return the organization and mailbox of a link. Raises LinkInvalid."""
    if len(token) > MAX_TOKEN:
        raise LinkInvalid
    try:
        purpose, organization_id, language, address = decrypt(f"{PREFIX}{token}").split(" ")
        organization = Organization.objects.get(pk=decode_id(Prefix.ORGANIZATION, organization_id))
    except (CannotDecrypt, ValueError, Organization.DoesNotExist):
        raise LinkInvalid from None
    if purpose != _PURPOSE or not is_single_address(address):
        raise LinkInvalid
    return Link(organization, mailbox_of(address), language)


def opt_out(link: Link) -> None:
    """Send this mailbox nothing more for this organization. Does nothing if it is on the list already."""
    with transaction.atomic():
        _, is_new = OptOut.objects.get_or_create(organization=link.organization, email=link.email)
        if is_new:
            _record(link.organization, "submitter.stopped", link.email)


def opt_in(link: Link) -> None:
    with transaction.atomic():
        if OptOut.objects.filter(organization=link.organization, email=link.email).delete()[0]:
            _record(link.organization, "submitter.resumed", link.email)


def remove_opt_out(row: OptOut) -> None:
    """Take an address off the list, by a member."""
    with transaction.atomic():
        if OptOut.objects.filter(pk=row.pk).delete()[0]:
            _record(row.organization, "submitter.removed", row.email)


def _record(organization: Organization, action: str, email: str) -> None:
    record_event(organization=organization, action=action, subject=email)


def opted_out_among(pairs: Collection[tuple[uuid.UUID, str]]) -> set[tuple[uuid.UUID, str]]:
    """Return those of these organizations and mailboxes that are on a list. One query."""
    rows = OptOut.objects.filter(
        organization__in={organization for organization, _ in pairs}, email__in={email for _, email in pairs}
    )
    return set(rows.values_list("organization_id", "email")) & set(pairs)
