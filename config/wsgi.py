"""WSGI entry point of the `web` role: API and dashboard. gunicorn serves it, and any other WSGI server may."""

import os
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, cast

from django.core.wsgi import get_wsgi_application

from config.environment.postgresql import ROLE_VARIABLE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ[ROLE_VARIABLE] = "web"
_django = get_wsgi_application()

from config.api.parsing import drop_long_media_types, say_length  # noqa: E402 - after setup
from config.checks import refuse_wrong_settings  # noqa: E402 - after setup
from dashboard.installation import setup_line  # noqa: E402 - after setup
from submissions.receiving.wsgi import SubmitApplication  # noqa: E402 - after setup

refuse_wrong_settings()  # a WSGI server does not run Django's system checks
_submit = SubmitApplication()
DRAIN_SECONDS = 5.0
SILENT_SECONDS = 0.25


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    body = environ["wsgi.input"]
    drop_long_media_types(environ)
    say_length(environ)
    response: Any = (_submit if _submit.takes(environ) else _django)(environ, start_response)
    if len(environ.get("CONTENT_LENGTH") or "") > len("99999"):  # of smaller bodies gunicorn reads the rest
        response = _Drained(response, environ.get("gunicorn.socket"), body)
    if environ["REQUEST_METHOD"] == "HEAD":  # a stream would run to its end for nothing
        response.close()
        return ()
    return cast(Iterable[bytes], response)


def announce_setup() -> None:
    """Print the link of the first person, while an installation has none."""
    sys.stdout.write(setup_line())
    sys.stdout.flush()


class _Drained:
    """
    An answer behind which the rest of a large body is read.

    A connection that is closed while its client still sends is reset, and that hides the answer. A proxy, which has the
    whole body, needs a moment; another client has DRAIN_SECONDS, as long as it is not silent.
    """

    def __init__(self, response: Any, connection: Any, body: Any) -> None:
        self._response, self._connection, self._body = response, connection, body

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._response)

    def close(self) -> None:
        if hasattr(self._response, "close"):
            self._response.close()
        if not self._is_read_to_its_end() and self._connection:
            # The rest must not be taken for the next request.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)

    def _is_read_to_its_end(self) -> bool:
        until = time.monotonic() + DRAIN_SECONDS
        with suppress(OSError):
            if self._connection:
                self._connection.settimeout(SILENT_SECONDS)
            while time.monotonic() < until:
                if not self._body.read(65_536):
                    return True
        return False
