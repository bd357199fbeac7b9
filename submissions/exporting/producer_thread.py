"""
Produce a streamed response in a separate thread.

A web server may request parts of a response, or abandon it, in any of its threads; a database transaction belongs to
the thread that started it. So one thread reads, and passes its parts on through a short queue.
"""

import contextlib
import datetime as dt
import queue
import threading
import time
import uuid
from collections.abc import Callable, Generator
from typing import Self

from django.conf import settings
from django.db import connections
from django.http import StreamingHttpResponse

from config.api.current_request import current_request
from config.api.errors import ServiceUnavailable
from config.api.long_requests import has_left
from submissions.exporting.places import Place, take_place

PARTS_AHEAD = 4  # produced before the client has taken them
POLL_SECONDS = 0.5


def stream_file(
    make: Callable[[], Generator[bytes, None, None]], media_type: str, name: str, suffix: str, *, by: uuid.UUID
) -> StreamingHttpResponse:
    """
    Return the response that streams the file `<name>-<date>.<suffix>`, whose parts `make` yields in another thread.

    `by`: the organization, of whose exports it is one. Raises RateLimited, and errors that occur before the first part.
    """
    parts = BackgroundParts(make, take_place(by))
    parts.check()
    filename = f"{name}-{dt.datetime.now(dt.UTC).date().isoformat()}.{suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(parts, content_type=media_type, headers=headers)


class BackgroundParts:
    """
    Iterates over the parts that `make()` yields in another thread. Errors are raised instead of the part.

    An empty part says that none is ready: then it looks whether its client is still there.

    `place` is released when the response is closed, or when its client has taken nothing for READER_SECONDS.
    """

    def __init__(self, make: Callable[[], Generator[bytes, None, None]], place: Place) -> None:
        self._make = make
        self._place = place
        self._request = current_request()
        self._parts: queue.Queue[bytes | BaseException] = queue.Queue(PARTS_AHEAD)
        self._abandoned = threading.Event()
        threading.Thread(target=self._produce, daemon=True, name="export").start()
        self._next: bytes | BaseException | None = self._take()
        while not self._next:
            self._next = self._take()
            if not self._next and has_left(self._request):
                self.close()
                raise ServiceUnavailable  # to nobody

    def check(self) -> None:
        """Raise the error that occurred before the first part, while the response can still be an error."""
        if isinstance(self._next, BaseException) and not isinstance(self._next, StopIteration):
            self.close()
            raise self._next

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        part = self._next or self._take()
        if not part and has_left(self._request):
            part = ConnectionAbortedError("the client has left")
        self._next = part if isinstance(part, BaseException) else None
        if isinstance(part, BaseException):
            raise part
        return part

    def close(self) -> None:
        """Stop: the thread ends its transaction soon. Django calls this at the end of every response."""
        self._abandoned.set()
        self._place.release()

    def _take(self) -> bytes | BaseException:
        while True:
            try:
                return self._parts.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if self._abandoned.is_set():  # half an export must not look complete
                    return ConnectionAbortedError("the client read nothing for too long")

    def _produce(self) -> None:
        end: BaseException = StopIteration()
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(connections.close_all)
                for part in stack.enter_context(contextlib.closing(self._make())):
                    if not self._hand_over(part):
                        return
        except BaseException as error:
            end = error
        self._hand_over(end)

    def _hand_over(self, part: bytes | BaseException) -> bool:
        """Pass a part on; return whether the other side still reads."""
        if not part:
            self._place.renew()
            with contextlib.suppress(queue.Full):
                self._parts.put_nowait(part)
            return not self._abandoned.is_set()
        until = time.monotonic() + settings.READER_SECONDS
        while not self._abandoned.is_set() and time.monotonic() < until:
            self._place.renew()
            with contextlib.suppress(queue.Full):
                self._parts.put(part, timeout=POLL_SECONDS)
                return True
        self.close()
        return False
