"""
Why was my POST refused? Refused submissions of the last 24 hours, alike ones together, without their payload.

A refused request adds one to a number in memory and goes on; a thread writes the numbers once a second. What a process
that is killed has not written yet is lost, and a flood is told in fewer words: this helps somebody who looks for a
mistake, it is no record.
"""

import datetime as dt
import logging
import os
import re
import threading
import time
import uuid

from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import QuerySet
from django.http import HttpRequest

from config.api.errors import ApiError, Detail
from config.database import drop_broken_connections
from config.logs import without_detail
from config.text import clean_text
from config.times import now
from forms_app.field_definitions import MAX_NAME
from forms_app.models import Form
from forms_app.origins import origin_of
from keys import tokens
from keys.authentication import META_NAME
from keys.models import AccessKey, Organization
from submissions.models import Refusal
from submissions.refusals.store import Refused, Times, write_refusals

KEPT = dt.timedelta(hours=24)
WRITE_EVERY = 1.0  # seconds
MOST_WAITING = 1_000  # kinds of refusals in memory; more are dropped, and that is logged
MAX_ORIGIN, MAX_MESSAGE = 300, 300  # characters kept
UNTOLD = {"not_found", "method_not_allowed"}  # a wrong address: nobody's to mend
SAFE_MESSAGES = {"validation_error", "invalid_json"}  # these name fields and places; others tell nothing more
_QUOTED_NUMBER = re.compile(r"^The number \S+")  # the one message that quotes a value
logger = logging.getLogger(__name__)


def note_refusal(
    request: HttpRequest,
    failure: ApiError,
    *,
    organization_id: uuid.UUID | None,
    form_id: uuid.UUID | None,
    key_id: uuid.UUID | None = None,
) -> None:
    """Note that a submission was refused. Costs no query, never waits, never raises."""
    if request.method != "POST" or failure.status >= 500 or failure.code in UNTOLD:
        return
    try:
        refused = _describe(request, failure, organization_id, form_id, key_id)
        if refused.organization_id or refused.form_id or refused.digest:
            _waiting.add(refused)
            _waiting.start_writer()
    except Exception:  # the request has its answer, whatever this was
        logger.exception("a refused submission could not be noted")


def _describe(
    request: HttpRequest,
    failure: ApiError,
    organization_id: uuid.UUID | None,
    form_id: uuid.UUID | None,
    key_id: uuid.UUID | None,
) -> Refused:
    """Return what is kept: of the request its origin, of the answer its words without any submitted value."""
    detail = failure.details[0] if failure.details else None
    shown = request.META.get(META_NAME, "")
    is_key = tokens.is_well_formed(shown)
    reason = failure.reason
    if failure.code == "invalid_access_key":
        reason = "unknown" if is_key else "misspelt" if shown else "missing"
    return Refused(
        organization_id=organization_id,
        form_id=form_id,
        key_id=key_id,
        digest=tokens.digest(shown) if organization_id is None and is_key else "",
        code=failure.code,
        detail_code=(detail.code if detail else reason)[:40],
        field=clean_text(detail.field) if detail and _is_name(detail.field) else "",
        origin=_origin(request),
        message=_message(failure, detail),
    )


def _is_name(text: str) -> bool:
    """Tell an input's name from what may be a whole body: JSON that a script sends as a form is one long name."""
    return len(text) < MAX_NAME


def _message(failure: ApiError, detail: Detail | None) -> str:
    if failure.code not in SAFE_MESSAGES or (detail and not _is_name(detail.field)):
        return ""
    return clean_text(_QUOTED_NUMBER.sub("A number", failure.message))[:MAX_MESSAGE]


def _origin(request: HttpRequest) -> str:
    """Return the page's origin as `refuse_page` looks at it, "" when it told none. Never the path of a Referer."""
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    return clean_text(origin)[:MAX_ORIGIN]


class Waiting:
    """What has been noted and not written yet, and the thread that writes it, one in each process."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Wait for nothing, with no thread: so does each process begin, a forked one too."""
        self._kinds: dict[Refused, Times] = {}
        self._lock = threading.Lock()
        self._is_writing = False
        self._dropped = 0

    def add(self, refused: Refused) -> None:
        """Count one more; a new kind beyond the bound is dropped."""
        moment = now()
        with self._lock:
            if refused in self._kinds:
                self._kinds[refused].add(Times(1, moment, moment))
            elif len(self._kinds) < MOST_WAITING:
                self._kinds[refused] = Times(1, moment, moment)
            else:
                self._dropped += 1

    def start_writer(self) -> None:
        """Start the thread that writes, unless it runs."""
        if self._is_writing:
            return
        with self._lock:
            if not self._is_writing:
                threading.Thread(target=self._write_forever, daemon=True, name="refusals").start()
                self._is_writing = True

    def take(self) -> dict[Refused, Times]:
        """Return what waits, and wait for nothing any more."""
        with self._lock:
            kinds, self._kinds = self._kinds, {}
            dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("%s refused submissions were not noted: too many kinds at once", dropped)
        return kinds

    def write(self) -> None:
        """Write what waits. A database that refuses it costs this much and no more."""
        kinds = self.take()
        if not kinds:
            return
        try:
            write_refusals(kinds)
        except DatabaseError as error:
            logger.warning("refused submissions could not be noted: %s", without_detail(str(error)))
            drop_broken_connections()

    def _write_forever(self) -> None:
        while True:
            time.sleep(WRITE_EVERY)
            try:
                self.write()
                connection.close()  # back to the pool: this thread needs it for a moment in a second
            except Exception:  # the thread must outlive whatever this was
                logger.exception("refused submissions could not be noted")


_waiting = Waiting()
os.register_at_fork(after_in_child=_waiting.begin)


def recent_refusals(
    organization: Organization, *, form: Form | None = None, key: AccessKey | None = None
) -> QuerySet[Refusal]:
    """Return what was refused in the last 24 hours, of one form or key if asked; newest first."""
    recent = Refusal.objects.filter(organization=organization, last_at__gt=now() - KEPT)
    if form:
        recent = recent.filter(form=form)
    if key:
        recent = recent.filter(access_key=key)
    return recent.select_related("organization", "form", "access_key").order_by("-last_at", "-pk")


def purge_refusals() -> int:
    """Forget what is older than that; return how many rows."""
    return Refusal.objects.filter(last_at__lt=now() - KEPT).delete()[0]
