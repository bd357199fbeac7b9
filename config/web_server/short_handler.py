"""A WSGI handler with less middleware, for paths that know no session: the API, plain posts, the guides."""

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler

PATHS = ("/api/", "/f/", "/submit", "/s/", "/p/", "/ajax/", "/frm_", "/docs", "/llms.txt")
# Middleware that needs a session or serves only pages: these paths run without it (docs/adr/0032).
SESSION_MIDDLEWARE = {
    "config.pages.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "config.pages.policies.NoStoreMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.accounts.languages.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dashboard.accounts.session_list.SessionWatch",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.limits.middleware.AccountLimits",
}


class ShortHandler(WSGIHandler):
    """Runs every middleware of the settings but those of SESSION_MIDDLEWARE."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the shorter list. Django reads the setting, so make one before requests are answered."""
        whole = settings.MIDDLEWARE
        settings.MIDDLEWARE = [name for name in whole if name not in SESSION_MIDDLEWARE]
        try:
            super().load_middleware(is_async)
        finally:
            settings.MIDDLEWARE = whole
