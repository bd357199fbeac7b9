"""Submissions as rows of any moment, stored without the API, and their records as literals."""

import datetime as dt
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from uuid_utils.compat import uuid7

from config.base.ids import Prefix, decode_id, encode_id, made_at, new_id
from config.base.times import format_time
from submissions.models import Submission
from submissions.search_text import search_text
from tests.services.waiting import eventually
from tests.support.tenants import Tenant

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EMPTY_META = {"ip": None, "userAgent": None, "origin": None, "referer": None}


def id_at(moment: dt.datetime) -> uuid.UUID:
    """Return a UUIDv7 of exactly this moment (whole milliseconds). Two of one moment are in no order."""
    milliseconds = (moment - EPOCH) // dt.timedelta(milliseconds=1)
    return uuid7(nanoseconds=milliseconds * 1_000_000)


def row(
    tenant: Tenant, form_id: str, values: Mapping[str, str], at: dt.datetime | None = None, *, spam: bool = False
) -> Submission:
    """Return an unsaved submission as `submissions.receiving.insert` would have written it at that moment."""
    pk = id_at(at) if at else new_id()
    return Submission(
        id=pk,
        organization=tenant.organization,
        form_id=decode_id(Prefix.FORM, form_id),
        data=dict(values),
        search_text=search_text(list(values.values())),
        meta=EMPTY_META,
        spam=spam,
        spam_reasons=["honeypot: _gotcha was filled in"] if spam else [],
        created_at=made_at(pk),
    )


def put(
    tenant: Tenant, form_id: str, values: Mapping[str, str], at: dt.datetime | None = None, *, spam: bool = False
) -> str:
    """Store one such submission and return its id."""
    made = row(tenant, form_id, values, at, spam=spam)
    made.save(force_insert=True)
    return made.public_id


def put_many(tenant: Tenant, form_id: str, values: Iterable[Mapping[str, str]], at: dt.datetime | None = None) -> None:
    """Store many with one statement for each 500; in this order, unless they are all of one moment."""
    Submission.objects.bulk_create([row(tenant, form_id, each, at) for each in values], batch_size=500)


def fill(tenant: Tenant, megabytes: int) -> None:
    """Store more than the sockets in between hold, so that the service notices when nobody reads its export."""
    put_many(tenant, tenant.default_form_id, [{"a": "x" * 50_000}] * (20 * megabytes))


def record_of(submission: Submission) -> dict[str, Any]:
    """Return the whole record that lists and exports must show for a row made here."""
    return {
        "id": encode_id(Prefix.SUBMISSION, submission.pk),
        "formId": encode_id(Prefix.FORM, submission.form_id),
        "data": submission.data,
        "files": [],
        "spam": submission.spam,
        "spamReasons": submission.spam_reasons,
        "held": submission.held or None,
        "test": submission.is_test,
        "meta": EMPTY_META,
        "imported": False,
        "createdAt": format_time(submission.created_at),
    }


def wait_until_dispatched(tenant: Tenant) -> None:
    """Return when the tallies count everything that the organization has stored."""
    owed = Submission.objects.undispatched().filter(organization=tenant.organization)
    eventually(lambda: not owed.exists(), because="every submission is dispatched")
