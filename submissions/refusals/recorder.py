"""
Refused submissions of the last 24 hours, equal ones in one row, without their payload: "Why was my POST refused?"

Best-effort diagnostics, not an audit log: counters are buffered in memory and written once a second. A killed process
loses up to a second, and a flood is merged into fewer rows.
"""

import datetime as dt
import logging
import os
import re
import threading
import time
import uuid

from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.db.models import QuerySet
from django.http import HttpRequest

from config.api.errors import ApiError
from config.base.database import drop_broken_connections
from config.base.text import clean_text
from config.base.times import now
from config.clean_up import delete_in_batches
from config.logs import without_detail
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
NOT_NOTED = {"method_not_allowed"}  # a wrong URL: no owner can fix it
SAFE_MESSAGES = {
    "validation_error",
    "invalid_json",
}  # these name fields and positions; others add nothing to their code
_QUOTED_NUMBER = re.compile(r"^The number \S+")  # the one message that quotes a value
logger = logging.getLogger(__name__)


def note_refusal(
    request: HttpRequest,
    failure: ApiError,
    *,
    organization_id: uuid.UUID | None,
    form_id: uuid.UUID | None,
    key_id: uuid.UUID | None = None,
    shown_key: str = "",
) -> None:
    """
    Record a refused submission: its origin, and the error without any submitted value. Costs no query, never waits,
    never raises.

    `shown_key`: the key in the body, where keys are read from it instead of from the header.
    """
    if request.method != "POST" or failure.status >= 500 or failure.code in NOT_NOTED:
        return
    if failure.code == "not_found" and organization_id is None:  # posts to made-up addresses would fill the buffer
        return
    try:
        shown = shown_key or request.META.get(META_NAME, "")
        is_key, reason = tokens.is_well_formed(shown), failure.reason
        if failure.code == "invalid_access_key":
            reason = reason or ("unknown" if is_key else "misspelt" if shown else "missing")
        detail = failure.details[0] if failure.details else None
        # JSON that a script sends as a form is one long name: the field is a body then, and no input's name.
        is_named = detail is None or len(detail.field) < MAX_NAME
        message = failure.message if failure.code in SAFE_MESSAGES and is_named else ""
        refused = Refused(
            organization_id=organization_id,
            form_id=form_id,
            key_id=key_id,
            digest=tokens.digest(shown) if organization_id is None and is_key else "",
            code=failure.code,
            detail_code=(detail.code if detail else reason)[:40],
            field=clean_text(detail.field) if detail and is_named else "",
            origin=_origin(request),
            message=clean_text(_QUOTED_NUMBER.sub("A number", message))[:MAX_MESSAGE],
        )
        if refused.organization_id or refused.form_id or refused.digest:
            waiting.add(refused)
            waiting.start_writer()
    except Exception:  # a failure here must not change the response
        logger.exception("a refused submission could not be recorded")


def _origin(request: HttpRequest) -> str:
    """Return the page's origin as `refuse_page` reads it, or "". Never the path of a Referer."""
    given = request.META.get("HTTP_ORIGIN")
    origin = origin_of(request.META.get("HTTP_REFERER", "")) if given is None else given
    return clean_text(origin)[:MAX_ORIGIN]


class Waiting:
    """The buffer of refusals and the thread that writes them, one in each process."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start empty and without a thread, as each process does, a forked one too."""
        self._kinds: dict[Refused, Times] = {}
        self.lock = threading.Lock()
        self.is_writing = False
        self._dropped = 0

    def add(self, refused: Refused) -> None:
        """Count one more; a new kind beyond the bound is dropped."""
        moment = now()
        with self.lock:
            if refused in self._kinds:
                self._kinds[refused].add(Times(1, moment, moment))
            elif len(self._kinds) < MOST_WAITING:
                self._kinds[refused] = Times(1, moment, moment)
            else:
                self._dropped += 1

    def start_writer(self) -> None:
        """Start the thread that writes, unless it is running."""
        if self.is_writing:
            return
        with self.lock:
            if not self.is_writing:
                threading.Thread(target=self._write_forever, daemon=True, name="refusals").start()
                self.is_writing = True

    def take(self) -> dict[Refused, Times]:
        """Return the buffer and empty it."""
        with self.lock:
            kinds, self._kinds = self._kinds, {}
            dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("%s refused submissions were not recorded: too many kinds at the same time", dropped)
        return kinds

    def write(self) -> None:
        """Write the buffer. If the database fails, only this buffer is lost."""
        kinds = self.take()
        if not kinds:
            return
        try:
            write_refusals(kinds)
        except DatabaseError as error:
            logger.warning("refused submissions could not be recorded: %s", without_detail(str(error)))
            drop_broken_connections()

    def _write_forever(self) -> None:
        while True:
            time.sleep(WRITE_EVERY)
            try:
                self.write()
                close_old_connections()
            except Exception:  # the thread must survive any error
                logger.exception("refused submissions could not be recorded")


waiting = Waiting()
os.register_at_fork(after_in_child=waiting.begin)


def recent_refusals(
    organization: Organization, *, form: Form | None = None, key: AccessKey | None = None
) -> QuerySet[Refusal]:
    """Return the refusals of the last 24 hours, optionally of one form or key; newest first."""
    recent = Refusal.objects.filter(organization=organization, last_at__gt=now() - KEPT)
    if form:
        recent = recent.filter(form=form)
    if key:
        recent = recent.filter(access_key=key)
    return recent.select_related("organization", "form", "access_key").order_by("-last_at", "-pk")


def purge_refusals() -> int:
    """Delete refusals older than 24 hours; return how many rows."""
    return delete_in_batches(Refusal.objects.filter(last_at__lt=now() - KEPT), by="last_at")
