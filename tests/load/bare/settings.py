"""The service's own settings, with one view and without middleware: same databases, processes and threads."""

from config.settings import *  # noqa: F403 - all of them

# allauth does not start without its middleware. `submissions/receiving/wsgi.py` leaves it out, so none runs.
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]  # that the admin's middleware is missing
ROOT_URLCONF = "tests.load.bare.urls"
