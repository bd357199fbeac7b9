"""
Python imports this at the start of every process of a run with `--coverage`.

The web server calls the application from threads that Python did not start, so tracing is turned on in each request.
From Python 3.12 coverage.py needs no such help (`core = "sysmon"`).
"""

import sys
import threading
from typing import Any

from django.core.handlers.wsgi import WSGIHandler

_call = WSGIHandler.__call__


def _traced_call(self: WSGIHandler, *arguments: Any) -> Any:
    if sys.gettrace() is None:
        sys.settrace(threading.gettrace())  # coverage.py's own
    return _call(self, *arguments)


WSGIHandler.__call__ = _traced_call  # type: ignore[method-assign, assignment]  # in this process only
