"""
How often recipients are asked to confirm, over all forms and organizations (docs/contract.md 7.21).

Every mail is a row, which outlives what it was sent for: neither an erased form nor a deleted organization makes room.
"""

import datetime as dt
import math
import uuid

from django.db.models import QuerySet
from django.utils.translation import gettext

from config.api.errors import RateLimited
from config.base.database import lock_name
from config.base.times import now
from config.clean_up import delete_in_batches
from forms_app.consent.addresses import mailbox_digest
from forms_app.models import RecipientQuestion
from keys.models import AuditEvent, Membership, Role

DELETED = "organization.deleted"  # in the audit trail
DAY = dt.timedelta(days=1)
MOST_FOR_AN_ADDRESS = 5  # mails in a day, over all organizations
MOST_FOR_AN_ORGANIZATION = 50  # mails in a day


class AskedTooMany(RateLimited):
    """Too many questions in a day."""

    def __init__(self, message: str, today: QuerySet[RecipientQuestion], most: int) -> None:
        """`today`: the questions that a cap of `most` counts; room comes when enough of them are a day old."""
        leaving = today.order_by("-asked_at").values_list("asked_at", flat=True)[most - 1]
        super().__init__(message, headers={"Retry-After": str(math.ceil((leaving + DAY - now()).total_seconds()))})


class OrganizationAskedTooMany(AskedTooMany):
    """The organization has sent its questions of the day, so none of its other recipients can be asked either."""


def mailbox_key(address: str) -> str:
    """Return what questions to a mailbox are counted by, however its address is written."""
    return mailbox_digest("recipients", address)


def count_question(organization_id: uuid.UUID, address: str) -> None:
    """
    Count a question. Its organization is locked; several of a transaction come in the order of their `mailbox_key`.

    Raises AskedTooMany for too many to this mailbox, OrganizationAskedTooMany for too many of the organization.
    """
    mailbox, moment = mailbox_key(address), now()
    lock_name(mailbox)
    today = RecipientQuestion.objects.filter(asked_at__gt=moment - DAY)
    of_mailbox = today.filter(mailbox=mailbox)
    if of_mailbox.count() >= MOST_FOR_AN_ADDRESS:
        text = gettext("This address was asked to confirm too often today. Try again tomorrow.")
        raise AskedTooMany(text, of_mailbox, MOST_FOR_AN_ADDRESS)
    of_organization = today.filter(organization_ref__in=_counted_with(organization_id))
    if of_organization.count() >= MOST_FOR_AN_ORGANIZATION:
        text = gettext("At most %(most)s addresses are asked in a day. Try again tomorrow.")
        message = text % {"most": MOST_FOR_AN_ORGANIZATION}
        raise OrganizationAskedTooMany(message, of_organization, MOST_FOR_AN_ORGANIZATION)
    RecipientQuestion.objects.create(organization_ref=organization_id, mailbox=mailbox, asked_at=moment)


def _counted_with(organization_id: uuid.UUID) -> list[uuid.UUID]:
    """Return an organization and those that its owners have deleted today, so that a new one makes no room either."""
    owners = Membership.objects.filter(organization=organization_id, role=Role.OWNER).values("user")
    deleted = AuditEvent.objects.filter(user__in=owners, action=DELETED, created_at__gt=now() - DAY)
    return [organization_id, *(ref for ref in deleted.values_list("organization_ref", flat=True) if ref)]


def purge_questions() -> int:
    """Delete the questions that no cap counts any more; return how many."""
    return delete_in_batches(RecipientQuestion.objects.filter(asked_at__lt=now() - DAY), by="asked_at")
