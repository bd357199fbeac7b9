"""WSGI entry point of the `web` role: API and dashboard, for our front (`manage.py serve`) or any WSGI server."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from config.environment.postgresql import ROLE_VARIABLE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ[ROLE_VARIABLE] = "web"  # of this process: its parent is `manage.py serve`
_django = get_wsgi_application()

from config.api.parsing import drop_long_media_types  # noqa: E402 - after setup
from config.checks import refuse_wrong_settings  # noqa: E402 - after setup
from submissions.receiving.wsgi import SubmitApplication  # noqa: E402 - after setup

refuse_wrong_settings()  # a WSGI server does not run Django's system checks
_submit = SubmitApplication()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request."""
    drop_long_media_types(environ)
    return (_submit if _submit.takes(environ) else _django)(environ, start_response)
