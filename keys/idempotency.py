"""
`Idempotency-Key` on the POSTs of the management API (docs/contract.md 1.30, docs/adr/0059).

`Repeatable` is a base of every view that has a POST.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.db import transaction
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from config.api.errors import Conflict
from config.api.parsing import idempotency_key
from config.api.schema import idempotency_key_header, replayed_header
from config.api.views import KeyedView
from config.base.times import now
from config.clean_up import delete_in_batches
from keys.authentication import caller_key
from keys.models import RememberedAnswer

KEPT = dt.timedelta(hours=24)
REPLAYED = "Idempotent-Replayed"
LOCATION = "Location"
SHOWN_ONCE = (
    "This request was carried out before, and its answer is repeated without the secret: `{}` is null, because it is "
    "shown only once. If you have lost it, make a new one."
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
        request = {"organization_id": self.organization_id, "request_sha256": self._fingerprint(key)}
        body_sha256 = self.sent_sha256()
        while (earlier := _earlier_answer(request, body_sha256)) is None:
            before()
            with transaction.atomic():
                RememberedAnswer.objects.filter(**request, created_at__lte=now() - KEPT).delete()
                # While another request with this key is running, this waits at the unique index until that has ended.
                remembered, is_first = RememberedAnswer.objects.get_or_create(
                    **request, defaults={"body_sha256": body_sha256}
                )
                if is_first:
                    answer = act()
                    _remember(remembered, answer, shown_once)
                    return answer
        return earlier

    def sent_sha256(self) -> str:
        """Return a digest of the request's content. A view that takes another type than JSON overrides it."""
        return hashlib.sha256(self.raw_body).hexdigest()

    def _fingerprint(self, key: str) -> str:
        method, path = str(self.request.method), self.request._request.path
        mode = ["test"] if caller_key(self.request).is_test else []  # its answers are of other submissions
        return hashlib.sha256("\n".join((method, path, key, *mode)).encode()).hexdigest()


def _earlier_answer(request: Mapping[str, Any], body_sha256: str) -> Response | None:
    """Return the first answer again, None if there is none yet. Raises Conflict for another body."""
    found = RememberedAnswer.objects.filter(**request, created_at__gt=now() - KEPT).first()
    if found is None:
        return None
    if found.body_sha256 != body_sha256:
        raise Conflict("This Idempotency-Key came with another body before. Use a new key for a new request.")
    headers = {REPLAYED: "true", **({LOCATION: found.location} if found.location else {})}
    return Response(json.loads(found.answer), status=found.status, headers=headers)


def _remember(remembered: RememberedAnswer, answer: Response, shown_once: str) -> None:
    """Store an answer, without its secret."""
    body = answer.data
    if shown_once:
        body = {**body, "data": {**body["data"], shown_once: None}, "message": SHOWN_ONCE.format(shown_once)}
    remembered.status, remembered.location = answer.status_code, answer.headers.get(LOCATION, "")
    remembered.answer = JSONRenderer().render(body).decode()
    remembered.save(update_fields=["status", "answer", "location"])


def purge_answers() -> int:
    """Delete answers that were remembered for 24 hours; return how many."""
    return delete_in_batches(RememberedAnswer.objects.filter(created_at__lte=now() - KEPT), by="created_at")
