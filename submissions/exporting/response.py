"""The response that streams an export, and holds its place until it is closed."""

import datetime as dt
import uuid
from collections.abc import Generator
from contextlib import closing

from django.http import HttpRequest, StreamingHttpResponse

from config.api.current_request import current_request
from config.api.errors import ServiceUnavailable
from config.api.long_requests import has_left
from submissions.exporting.places import Place, take_place


def stream_file(
    parts: Generator[bytes, None, None], media_type: str, name: str, suffix: str, *, by: uuid.UUID
) -> StreamingHttpResponse:
    """
    Return the response that streams the parts of the file `<name>-<date>.<suffix>`.

    `by`: the organization, of whose exports it is one. Raises RateLimited, and errors that occur before the first part.
    """
    content = in_place(parts, take_place(by), current_request())
    next(content)
    filename = f"{name}-{dt.datetime.now(dt.UTC).date().isoformat()}.{suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{filename}"', "Cache-Control": "no-store"}
    return StreamingHttpResponse(content, content_type=media_type, headers=headers)


def in_place(
    parts: Generator[bytes, None, None], place: Place, request: HttpRequest | None
) -> Generator[bytes, None, None]:
    """
    Yield an empty part when the first one is there, then all parts. Its end, also by `close`, releases the place.

    An empty one of `parts` says that none is ready. Raises ServiceUnavailable when the client has left meanwhile: half
    an export must not look complete.
    """

    def ready() -> Generator[bytes, None, None]:
        for part in parts:
            place.renew()
            if part:
                yield part
            elif has_left(request):
                raise ServiceUnavailable  # to nobody

    try:
        with closing(parts):
            found = ready()
            first = next(found, b"")
            yield b""
            yield first
            yield from found
    finally:
        place.release()
