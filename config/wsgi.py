"""WSGI entry point of the `web` role: API and dashboard, served by granian (`manage.py serve`)."""

import os

from django.core import checks
from django.core.management.base import SystemCheckError
from django.core.wsgi import get_wsgi_application

from config.supervision.parent_watch import end_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL_SIZE", "8")  # connections to PostgreSQL for each web process: one per thread
end_with_parent()
application = get_wsgi_application()

# A WSGI server does not run Django's system checks, so run them here: an unsafe configuration must not start.
_errors = [error for error in checks.run_checks(tags=["fieldpost"]) if error.is_serious()]
if _errors:
    raise SystemCheckError("\n".join(str(error) for error in _errors))
