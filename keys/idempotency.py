"""
`Idempotency-Key` on the POSTs of the management API (docs/contract.md 1.30, docs/adr/0059).

`Repeatable` is a base of every view that has a POST.
"""

import datetime as dt
import hashlib
import json
import uuid
from collections.abc import Callable

from django.db import connection, transaction
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from config.api.errors import Conflict
from config.api.parsing import idempotency_key
from config.api.schema import idempotency_key_header, replayed_header
from config.api.views import KeyedView
from config.database import database_id
from config.times import now
from keys.models import RememberedAnswer

KEPT = dt.timedelta(hours=24)
REPLAYED = "Idempotent-Replayed"
LOCATION = "Location"
ROWS_A_BATCH = 1000
SHOWN_ONCE = (
    "This request was carried out before, and its answer is repeated without the secret: `{}` is null, because it is "
    "shown only once. If you have lost it, make a new one."
)
_TABLE = RememberedAnswer._meta.db_table
_RESERVE = (
    f"INSERT INTO {_TABLE} (organization_id, request_sha256, body_sha256, status, answer, location, created_at) "  # noqa: S608 - names from code
    "VALUES (%s, %s, %s, 0, '', '', %s) ON CONFLICT (organization_id, request_sha256) "
    "DO UPDATE SET body_sha256 = excluded.body_sha256, created_at = excluded.created_at "
    f"WHERE {_TABLE}.created_at <= %s"
)


class Repeatable(KeyedView):
    """A view whose POSTs may be repeated: each one calls `once` after the gates from the key to the ids."""

    headers_of_posts = (idempotency_key_header(), replayed_header())  # read by the OpenAPI schema

    def once(
        self, act: Callable[[], Response], *, before: Callable[[], object] = lambda: None, shown_once: str = ""
    ) -> Response:
        """
        Return the answer of `act`, or the first one if this request came with the same `Idempotency-Key` before.

        The change and its remembered answer are one transaction; an error is not remembered. `before`: checks that take
        long, such as storing a file, outside of it. `shown_once`: the secret in `data`, which is never kept.

        Call it after `read` and `find`. Raises ValidationFailed for a malformed key, Conflict for another body, and
        what `act` and `before` raise.
        """
        key = idempotency_key(self.request._request)
        if key is None:
            before()
            return act()
        request = _Request(self.organization_id, self._fingerprint(key), self.sent_sha256())
        while (earlier := request.earlier()) is None:
            before()
            with transaction.atomic():
                if request.reserve():
                    answer = act()
                    request.remember(answer, shown_once)
                    return answer
        return earlier

    def sent_sha256(self) -> str:
        """Return a digest of the request's content. A view that takes another type than JSON overrides it."""
        return hashlib.sha256(self.raw_body).hexdigest()

    def _fingerprint(self, key: str) -> str:
        method, path = str(self.request.method), self.request._request.path
        return hashlib.sha256("\n".join((method, path, key)).encode()).hexdigest()


class _Request:
    """A request with an `Idempotency-Key`, by its digests."""

    def __init__(self, organization_id: uuid.UUID, request_sha256: str, body_sha256: str) -> None:
        self._organization_id, self._sha256, self._body_sha256 = organization_id, request_sha256, body_sha256
        self._rows = RememberedAnswer.objects.filter(organization=organization_id, request_sha256=request_sha256)

    def earlier(self) -> Response | None:
        """Return the first answer again, None if there is none yet. Raises Conflict for another body."""
        found = self._rows.filter(created_at__gt=now() - KEPT).first()
        if found is None:
            return None
        if found.body_sha256 != self._body_sha256:
            raise Conflict("This Idempotency-Key came with another body before. Use a new key for a new request.")
        headers = {REPLAYED: "true", **({LOCATION: found.location} if found.location else {})}
        return Response(json.loads(found.answer), status=found.status, headers=headers)

    def reserve(self) -> bool:
        """
        Reserve the key in the caller's transaction, also an outdated one; False if another request has it.

        While another request with this key is running, this waits at the unique index until that has ended.
        """
        moment = now()
        times = [connection.ops.adapt_datetimefield_value(each) for each in (moment, moment - KEPT)]
        with connection.cursor() as cursor:
            cursor.execute(_RESERVE, [database_id(self._organization_id), self._sha256, self._body_sha256, *times])
            return bool(cursor.rowcount)

    def remember(self, answer: Response, shown_once: str) -> None:
        """Store an answer, without its secret, in the caller's transaction."""
        body = answer.data
        if shown_once:
            body = {**body, "data": {**body["data"], shown_once: None}, "message": SHOWN_ONCE.format(shown_once)}
        text = JSONRenderer().render(body).decode()
        self._rows.update(status=answer.status_code, answer=text, location=answer.headers.get(LOCATION, ""))


def purge_answers() -> int:
    """Delete answers that were remembered for 24 hours; return how many."""
    outdated, purged = RememberedAnswer.objects.filter(created_at__lte=now() - KEPT), 0
    while batch := list(outdated.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        purged += outdated.filter(pk__in=batch).delete()[0]
    return purged
