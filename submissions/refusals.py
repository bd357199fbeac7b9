"""
Why was my POST refused? Refused submissions of the last 24 hours, alike ones together, without their payload.

A refused request adds one to a number in memory and goes on; a thread writes the numbers once a second. What a process
that is killed has not written yet is lost, and a flood is told in fewer words: this helps somebody who looks for a
mistake, it is no record.
"""

import dataclasses
import datetime as dt
import hashlib
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest

from config.api.errors import ApiError
from config.api.text import clean_text
from config.api.times import now
from forms_app.models import Form
from keys import tokens
from keys.authentication import META_NAME
from keys.models import AccessKey, Organization
from submissions.lookup import database_id
from submissions.models import Refusal

KEPT = dt.timedelta(hours=24)
WRITE_EVERY = 1.0  # seconds
MOST_WAITING = 1_000  # kinds of refusals in memory; more are dropped, and that is logged
MOST_AN_HOUR = 500  # rows of one organization in an hour; beyond, only code and form are told apart
# Nobody's to mend, or no refusal of a submission.
UNTOLD = {"not_found", "method_not_allowed", "internal_error", "service_unavailable", "unauthorized"}
SAFE_MESSAGES = {"validation_error", "invalid_json"}  # these name fields and places, never values
logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """One kind of refusal. Without an organization, `digest` (of the key shown) and `form_id` may tell whose it is."""

    organization_id: uuid.UUID | None
    form_id: uuid.UUID | None
    key_id: uuid.UUID | None
    digest: str
    code: str
    detail_code: str = ""
    field: str = ""
    origin: str = ""
    message: str = ""

    @property
    def fingerprint(self) -> str:
        """What makes two refusals alike."""
        parts = (self.form_id, self.key_id, self.code, self.detail_code, self.field, self.origin, self.message)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def in_fewer_words(self) -> "Refused":
        """Return the same without what a flood could vary."""
        return dataclasses.replace(self, detail_code="", field="", origin="", message="")


@dataclasses.dataclass(slots=True)
class Times:
    """How often, from when to when."""

    count: int
    first: dt.datetime
    last: dt.datetime

    def add(self, other: "Times") -> None:
        """Count these too."""
        self.count += other.count
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


def note_refusal(
    request: HttpRequest,
    failure: ApiError,
    *,
    organization_id: uuid.UUID | None,
    form_id: uuid.UUID | None,
    key_id: uuid.UUID | None = None,
) -> None:
    """Note that a submission was refused. Costs no query, never waits, never raises."""
    if failure.code in UNTOLD or failure.status >= 500:
        return
    detail = failure.details[0] if failure.details else None
    shown = request.META.get(META_NAME, "")
    refused = Refused(
        organization_id=organization_id,
        form_id=form_id,
        key_id=key_id,
        digest=tokens.digest(shown) if organization_id is None and tokens.is_well_formed(shown) else "",
        code=failure.code,
        detail_code=(detail.code if detail else failure.reason)[:40],
        field=detail.field[:128] if detail else "",
        origin=clean_text(request.META.get("HTTP_ORIGIN", ""))[:300],
        message=failure.message[:300]
        if failure.code in SAFE_MESSAGES and (not detail or detail.field != "formId")
        else "",
    )
    if refused.organization_id or refused.form_id or refused.digest:
        _waiting.add(refused)


class _Waiting:
    """What has been noted and not written yet, and the thread that writes it, one in each process."""

    def __init__(self) -> None:
        self._kinds: dict[Refused, Times] = {}
        self._lock = threading.Lock()
        self._process = 0
        self._dropped = 0

    def add(self, refused: Refused) -> None:
        moment = now()
        with self._lock:
            if refused in self._kinds:
                self._kinds[refused].add(Times(1, moment, moment))
            elif len(self._kinds) < MOST_WAITING:
                self._kinds[refused] = Times(1, moment, moment)
            else:
                self._dropped += 1
            if self._process != os.getpid():  # none yet, or a fork left the thread behind
                self._process = os.getpid()
                threading.Thread(target=self._run, daemon=True, name="refusals").start()

    def take(self) -> dict[Refused, Times]:
        with self._lock:
            kinds, self._kinds = self._kinds, {}
            dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("%s refused submissions were not noted: too many kinds at once", dropped)
        return kinds

    def _run(self) -> None:
        while True:
            time.sleep(WRITE_EVERY)
            kinds = self.take()
            if not kinds:
                continue
            try:
                write_refusals(kinds)
            except DatabaseError as error:
                logger.warning("refused submissions could not be noted: %s", error)
            except Exception:  # the thread must outlive whatever this was
                logger.exception("refused submissions could not be noted")
            finally:
                connection.close()  # back to the pool: this thread needs it for a moment in a second


_waiting = _Waiting()
_TABLE = Refusal._meta.db_table
_COLUMNS = (
    "organization_id", "form_id", "access_key_id", "code", "detail_code", "field", "origin", "message", "count",
    "hour", "first_at", "last_at", "fingerprint",
)  # fmt: skip
_UPSERT = (
    f"INSERT INTO {_TABLE} ({', '.join(_COLUMNS)}) VALUES ({', '.join(['%s'] * len(_COLUMNS))}) "  # noqa: S608 - names from code
    f"ON CONFLICT (organization_id, hour, fingerprint) DO UPDATE SET count = {_TABLE}.count + excluded.count, "
    "last_at = excluded.last_at"
)


def write_refusals(kinds: dict[Refused, Times]) -> None:
    """Write what was noted, adding to what stands there of the same hour; what is nobody's is dropped."""
    rows: dict[Refused, Times] = {}
    hour = now().replace(minute=0, second=0, microsecond=0)
    for refused, times in _in_bounds(_owned(kinds), hour):
        if refused in rows:
            rows[refused].add(times)
        else:
            rows[refused] = times
    with connection.cursor() as cursor:
        cursor.executemany(_UPSERT, [_values(refused, times, hour) for refused, times in rows.items()])


def _owned(kinds: dict[Refused, Times]) -> Iterable[tuple[Refused, Times]]:
    """Find out whose a refusal without a valid key is: of a revoked or expired key, else of the form that it named."""
    strangers = [refused for refused in kinds if refused.organization_id is None]
    digests = {refused.digest for refused in strangers} - {""}
    found = AccessKey.objects.filter(digest__in=digests).values_list("digest", "pk", "organization") if digests else []
    keys = {digest: (pk, organization) for digest, pk, organization in found}
    named = {refused.form_id for refused in kinds if refused.form_id}
    owners = dict(Form.objects.filter(pk__in=named).values_list("pk", "organization")) if named else {}
    for refused, times in kinds.items():
        key_id, organization_id = refused.key_id, refused.organization_id
        form_owner = owners.get(refused.form_id) if refused.form_id else None
        if organization_id is None:
            key_id, organization_id = keys.get(refused.digest, (None, form_owner))
        if organization_id is not None:
            form_id = refused.form_id if form_owner == organization_id else None
            yield (
                dataclasses.replace(
                    refused, organization_id=organization_id, form_id=form_id, key_id=key_id, digest=""
                ),
                times,
            )


def _in_bounds(owned: Iterable[tuple[Refused, Times]], hour: dt.datetime) -> Iterable[tuple[Refused, Times]]:
    counts: dict[uuid.UUID | None, int] = {}
    for refused, times in owned:
        owner = refused.organization_id
        if owner not in counts:
            counts[owner] = Refusal.objects.filter(organization=owner, hour=hour).count()
        counts[owner] += 1
        yield (refused if counts[owner] <= MOST_AN_HOUR else refused.in_fewer_words()), times


def _values(refused: Refused, times: Times, hour: dt.datetime) -> list[Any]:
    ids = [refused.organization_id, refused.form_id, refused.key_id]
    moments = [connection.ops.adapt_datetimefield_value(moment) for moment in (hour, times.first, times.last)]
    texts = [refused.code, refused.detail_code, refused.field, refused.origin, refused.message]
    return [*(pk and database_id(pk) for pk in ids), *texts, times.count, *moments, refused.fingerprint]


def recent_refusals(organization: Organization) -> QuerySet[Refusal]:
    """Return what was refused in the last 24 hours, newest first."""
    recent = Refusal.objects.filter(organization=organization, last_at__gt=now() - KEPT)
    return recent.select_related("form", "access_key").order_by("-last_at")


def purge_refusals() -> int:
    """Forget what is older than that; return how many rows."""
    return Refusal.objects.filter(last_at__lt=now() - KEPT).delete()[0]
