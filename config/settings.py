"""
Every setting of Fieldpost, read from the environment (docs/contract.md 8).

The process environment takes precedence over `DATA_DIR/env`, which the first `make run` writes. A secret can also be in
a file that NAME_FILE names.
https://docs.djangoproject.com/en/5.2/ref/settings/
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from config import account_settings
from config.api.openapi.settings import openapi_settings
from config.api.rest_settings import REST_SETTINGS
from config.environment.caches import redis_cache
from config.environment.postgresql import with_limits
from config.environment.variables import is_cut, read_environment
from config.error_reports import start_error_reports
from config.logs import logging_config
from config.pages.policies import content_security_policy

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("DATA_DIR") or BASE_DIR / "data").resolve()

env = read_environment(DATA_DIR / "env")

# Core ----------------------------------------------------------------------------------------------------------------
DEBUG = env.bool("DEBUG", default=False)
DEMO = env.bool("DEMO", default=False)  # first run on a laptop: demo organization, local receivers
SECRET_KEY = env.str("SECRET_KEY", default="")
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])  # earlier ones: what they signed stays valid
ENCRYPTION_KEYS = env.list("ENCRYPTION_KEYS", default=[])  # of secrets in the database; the first one encrypts
PORT = env.int("PORT", default=8000)
EVENTS_PORT = env.int("EVENTS_PORT", default=PORT + 1)
PUBLIC_URL = env.str("PUBLIC_URL", default=f"http://127.0.0.1:{PORT}").rstrip("/")
PAGES_URL = env.str("PAGES_URL", default="").rstrip("/")  # a separate origin for hosted pages
SECURITY_CONTACT = env.str("SECURITY_CONTACT", default="")  # mailto: or https:, in security.txt
EVENTS_URL = env.str("EVENTS_URL", default=f"http://127.0.0.1:{EVENTS_PORT}").rstrip("/")
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS", default=[urlsplit(PUBLIC_URL).hostname or "localhost", "localhost", "127.0.0.1"]
)
if PAGES_URL:
    ALLOWED_HOSTS.append(urlsplit(PAGES_URL).hostname or "")
WEB_CONCURRENCY = env.int("WEB_CONCURRENCY", default=1)  # web worker processes on this host
TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXY_COUNT", default=0)  # proxies that append to X-Forwarded-For
# Of each web process; config/web_server/settings.py reads both variables too. Without a proxy slow clients hold some.
WEB_THREADS = env.int("WEB_THREADS", default=8 if TRUSTED_PROXY_COUNT else 16)
READER_SECONDS = env.float("READER_SECONDS", default=60)  # for a client that takes nothing of its answer
IS_HTTPS = PUBLIC_URL.startswith("https://")

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False  # paths of the API have no slash, and a redirect would drop the body of a POST
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SILENCED_SYSTEM_CHECKS = [
    "django_ratelimit.W001",  # our backend is Django's RedisCache, whose add and incr are atomic
    "models.W040",  # SQLite ignores `include` of an index; such queries are only slower there
    "security.W005",  # HSTS for subdomains and the preload list (W021) is up to the owner of the domain
    "security.W021",
    "security.W008",  # the proxy redirects to https; a redirect here would drop the body of a POST
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",  # the templates of its widgets, besides those of FORM_RENDERER
    "rest_framework",
    "django_filters",
    "django_htmx",
    "django_ratelimit",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config",  # its commands run the product
    "keys",
    "forms_app",
    "submissions",
    "webhooks",
    "dashboard",
]

MIDDLEWARE = [
    "config.api.middleware.FieldpostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.pages.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.accounts.languages.LanguageMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "dashboard.accounts.session_list.SessionWatch",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.frame.limits.middleware.AccountLimits",
    "csp.middleware.CSPMiddleware",
    "dashboard.accounts.remote_user.RemoteUserMiddleware",  # answers itself, so all others are around it
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.access.member",
                "dashboard.installation.installation",
            ]
        },
    }
]

FORM_RENDERER = "dashboard.frame.form_renderer.FormRenderer"

# Databases -----------------------------------------------------------------------------------------------------------
# https://docs.djangoproject.com/en/5.2/ref/databases/
# A submission must be on disk before its 201: SQLite runs with synchronous=FULL, as PostgreSQL does by default.
SNAPSHOT = "snapshot"  # alias for lists: several queries in one repeatable read, never a write
EXPORT = "export"  # the same for exports, with a longer limit
DIRECT = "direct"  # `migrate`'s, where DATABASE_URL is a pooler


def databases(url: str, *, replica_url: str = "", has_pooler: bool = False) -> dict[str, dict[str, Any]]:
    """
    Return `default` for everything, and `snapshot` and `export` for reads of it in one consistent transaction.

    With the URL of a replica `export` is there, and `analytics`, a `snapshot`.
    """
    default: dict[str, Any] = env.db_url_config(url)
    default.setdefault("OPTIONS", {})
    snapshot = {**default, "OPTIONS": dict(default["OPTIONS"]), "TEST": {"MIRROR": "default"}}
    if default["ENGINE"] == "django.db.backends.sqlite3":
        pragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA cache_size=-16000;"
        # IMMEDIATE: with DEFERRED, transactions that read and then write fail as "locked" without waiting.
        default["OPTIONS"] |= {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": pragmas}
        snapshot["OPTIONS"] |= {"transaction_mode": "DEFERRED", "timeout": 20, "init_command": "PRAGMA query_only=ON;"}
        export = snapshot
        default["CONN_MAX_AGE"] = snapshot["CONN_MAX_AGE"] = None  # reopening the file costs more than the INSERT
    else:
        snapshot, export = with_limits(
            default, snapshot, quick=STATEMENT_SECONDS, long=LONG_STATEMENT_SECONDS, has_pooler=has_pooler
        )
    found = {"default": default, SNAPSHOT: snapshot, EXPORT: export | {"CONN_MAX_AGE": 0}}  # exports are rare
    if replica_url:
        there = databases(replica_url, has_pooler=has_pooler)
        found |= {EXPORT: there[EXPORT], "analytics": there[SNAPSHOT]}
    return found


STATEMENT_SECONDS = env.float("DATABASE_STATEMENT_SECONDS", default=5)  # PostgreSQL's, of web and events; 0 is none
LONG_STATEMENT_SECONDS = env.float("DATABASE_LONG_STATEMENT_SECONDS", default=600)  # of exports and all other roles
DATABASE_URL = env.str("DATABASE_URL", default="")
SQLITE_FILE = DATA_DIR / "fieldpost.sqlite3"  # made only where DATABASE_URL names it
# PostgreSQL itself, if DATABASE_URL is a pooler in transaction mode: migrations need settings of their session.
DATABASE_DIRECT_URL = env.str("DATABASE_DIRECT_URL", default="")
# Poolers lose them, but for PgBouncer from 1.21 on with max_prepared_statements.
DATABASE_PREPARED_STATEMENTS = env.bool("DATABASE_PREPARED_STATEMENTS", default=not DATABASE_DIRECT_URL)
DATABASE_REPLICA_URL = env.str("DATABASE_REPLICA_URL", default="")  # a standby, for exports and analytics
ANALYTICS = "analytics" if DATABASE_REPLICA_URL else SNAPSHOT
DATABASES = databases(
    DATABASE_URL or f"sqlite:///{quote(str(SQLITE_FILE))}",
    replica_url=DATABASE_REPLICA_URL,
    has_pooler=bool(DATABASE_DIRECT_URL),
)
if DATABASE_DIRECT_URL:
    DATABASES[DIRECT] = databases(DATABASE_DIRECT_URL)["default"]
_urls = (DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_REPLICA_URL)
if not (DATABASE_URL or SQLITE_FILE.exists()) or any(map(is_cut, _urls)):
    for _database in DATABASES.values():
        _database["ENGINE"] = "config.environment.lost_database"
elif DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # the first command creates it
    Path(DATABASES["default"]["NAME"]).parent.mkdir(mode=0o700, parents=True, exist_ok=True)

# Redis, cache, rate limits -------------------------------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="")
REDIS_TIMEOUT_SECONDS = env.float("REDIS_TIMEOUT_SECONDS", default=0.5)
REDIS_RETRY_SECONDS = env.float("REDIS_RETRY_SECONDS", default=5.0)  # pause after a failure of Redis

LOCAL_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 100_000}}
CACHES: dict[str, dict[str, Any]] = {
    "default": {**LOCAL_CACHE, "LOCATION": "default"},  # allauth's login limits, used codes
    "counters": {**LOCAL_CACHE, "LOCATION": "counters"},  # the API's limits
}
if REDIS_URL:
    CACHES["default"] = CACHES["counters"] = redis_cache(REDIS_URL, REDIS_TIMEOUT_SECONDS)
else:
    # This cache is not shared between processes, but fieldpost.E002 allows only one.
    SILENCED_SYSTEM_CHECKS.append("django_ratelimit.E003")
CACHES["local"] = {**LOCAL_CACHE, "LOCATION": "local"}  # the limiter's fallback while Redis is unavailable
RATELIMIT_USE_CACHE = "counters"
BURST_PER_ADDRESS_AND_FORM = env.str("BURST_PER_ADDRESS_AND_FORM", default="10/m")
BURST_PER_FORM = env.str("BURST_PER_FORM", default="60/m")

SEARCHES_AT_ONCE = env.int("SEARCHES_AT_ONCE", default=3)  # of one organization, per process

# Spam ----------------------------------------------------------------------------------------------------------------
PROOF_OF_WORK_HASHES = env.int("PROOF_OF_WORK_HASHES", default=100_000)  # at most per submission; at least half
TURNSTILE_VERIFY_URL = env.str(
    "TURNSTILE_VERIFY_URL", default="https://challenges.cloudflare.com/turnstile/v0/siteverify"
)
HCAPTCHA_VERIFY_URL = env.str("HCAPTCHA_VERIFY_URL", default="https://api.hcaptcha.com/siteverify")

# Live stream ---------------------------------------------------------------------------------------------------------
EVENTS_TOKEN_SECONDS = env.int("EVENTS_TOKEN_SECONDS", default=120)  # a new token checks permissions again
EVENTS_MAX_VIEWERS = env.int("EVENTS_MAX_VIEWERS", default=5_000)  # per process
EVENTS_PER_ORGANIZATION = env.int("EVENTS_PER_ORGANIZATION", default=100)  # per process

# Exports -------------------------------------------------------------------------------------------------------------
EXPORTS_AT_ONCE = env.int("EXPORTS_AT_ONCE", default=6)
EXPORTS_AT_ONCE_PER_ORGANIZATION = env.int("EXPORTS_AT_ONCE_PER_ORGANIZATION", default=2)
EXPORTS_AT_ONCE_PER_OWNER = env.int("EXPORTS_AT_ONCE_PER_OWNER", default=3)  # over all organizations of an owner

# Files ---------------------------------------------------------------------------------------------------------------
FILES_DIR = DATA_DIR / "files"  # of the local storage; with FILES_URL only for files that are arriving
FILES_URL = env.str("FILES_URL", default="")  # s3://…: an S3-compatible service instead of FILES_DIR
FILES_ORIGIN = env.str("FILES_ORIGIN", default="").rstrip("/")  # a separate origin for downloads
if FILES_ORIGIN:
    ALLOWED_HOSTS.append(urlsplit(FILES_ORIGIN).hostname or "")
FILES_UNUSED_DAYS = env.float("FILES_UNUSED_DAYS", default=7)  # for which a file waits for its submission
FILES_UNUSED_BYTES = env.int("FILES_UNUSED_BYTES", default=50 * 1024 * 1024)  # of one address
CLAMD_URL = env.str("CLAMD_URL", default="")  # tcp://host:port or unix:///path of a virus scanner
SCAN_SECONDS = env.float("SCAN_SECONDS", default=900)  # for which a submission waits for the scan of its files

# Whose installation it is --------------------------------------------------------------------------------------------
SIGN_UP = env.str("SIGN_UP", default="invited")  # open, invited or closed: who may make an account
DEFAULT_PLAN = env.str("DEFAULT_PLAN", default="enterprise")  # of new organizations; who hosts others sets free
ORGANIZATIONS = env.str("ORGANIZATIONS", default="open")  # open or operators: who makes more of them in the dashboard
# Of people whom an OpenID provider or a proxy has logged in, and who have no account yet.
OIDC_ORGANIZATION = env.str("OIDC_ORGANIZATION", default="")  # the slug of the one that they join without invitation
OIDC_DEFAULT_ROLE = env.str("OIDC_DEFAULT_ROLE", default="member")  # there, if nothing is said about it
REMOTE_USER_HEADER = env.str("REMOTE_USER_HEADER", default="")  # with the address of whom a proxy has logged in
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=[])  # networks of peers whose REMOTE_USER_HEADER counts

# Access keys ---------------------------------------------------------------------------------------------------------
ACCESS_KEY_PREFIX = env.str("ACCESS_KEY_PREFIX", default="fp")

# Single sign-on ------------------------------------------------------------------------------------------------------
# https://openid.net/specs/openid-connect-core-1_0.html
OIDC_ISSUER = env.str("OIDC_ISSUER", default="")  # as its tokens spell it; without it there is no single sign-on
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
OIDC_NAME = env.str("OIDC_NAME", default="Single sign-on")  # on the button
OIDC_ROLE_CLAIM = env.str("OIDC_ROLE_CLAIM", default="")  # the claim with the role of a new person
OIDC_TRUST_EMAIL = env.bool("OIDC_TRUST_EMAIL", default=False)  # an address counts without `email_verified`
OIDC_ONLY = env.bool("OIDC_ONLY", default=False)  # no passwords, passkeys, resets and sign-up
OIDC_IS_SECOND_STEP = env.bool("OIDC_IS_SECOND_STEP", default=False)  # the issuer asks for one
OIDC_SESSION_HOURS = env.float("OIDC_SESSION_HOURS", default=24)  # then the issuer is asked again

# People --------------------------------------------------------------------------------------------------------------
# https://docs.djangoproject.com/en/5.2/topics/auth/
AUTH_USER_MODEL = "keys.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "dashboard:home"
AUTH_PASSWORD_VALIDATORS = account_settings.PASSWORD_VALIDATORS
# https://docs.allauth.org/en/latest/account/configuration.html
ACCOUNT_ADAPTER = "dashboard.allauth_adapters.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_SIGNUP_FORM_CLASS = "dashboard.html_forms.sign_up.OrganizationSignupForm"
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_VERIFICATION_BY_CODE_ENABLED = True  # codes instead of links: no link that points to another host
ACCOUNT_EMAIL_VERIFICATION_SUPPORTS_RESEND = True
ACCOUNT_PASSWORD_RESET_BY_CODE_ENABLED = True
ACCOUNT_CHANGE_EMAIL = True  # one address per person, replaced once the new one is verified
ACCOUNT_EMAIL_NOTIFICATIONS = True  # "your password was changed"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_RATE_LIMITS = account_settings.RATE_LIMITS
ACCOUNT_FORMS = account_settings.FORMS
ACCOUNT_REAUTHENTICATION_TIMEOUT = 600  # seconds after a login in which sensitive changes do not ask again
USERSESSIONS_ADAPTER = "dashboard.allauth_adapters.UserSessionsAdapter"
MFA_ADAPTER = "dashboard.allauth_adapters.MFAAdapter"
MFA_FORMS = account_settings.SECOND_STEP_FORMS
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = not OIDC_ONLY
MFA_TOTP_ISSUER = "Fieldpost"
MFA_TOTP_TOLERANCE = 1  # steps of 30 s by which a phone's clock may be wrong
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not IS_HTTPS  # browsers allow http only for localhost
SESSION_ENGINE = "dashboard.accounts.session_store"
SESSION_COOKIE_AGE = 30 * 86_400  # seconds without use; the engine ends sessions after 90 days in any case
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_NAME = "__Host-session" if IS_HTTPS else "fieldpost_session"
CSRF_COOKIE_NAME = "__Host-csrf" if IS_HTTPS else "fieldpost_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "config.api.error_pages.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0  # a year
X_FRAME_OPTIONS = "DENY"
if TRUSTED_PROXY_COUNT:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Pages ---------------------------------------------------------------------------------------------------------------
# https://django-csp.readthedocs.io/en/latest/configuration.html
CONTENT_SECURITY_POLICY = content_security_policy(EVENTS_URL)

# API -----------------------------------------------------------------------------------------------------------------
MAX_BODY_BYTES = 256 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
FILE_UPLOAD_HANDLERS = [
    "config.pages.small_files.SmallFiles",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",  # of files to import
]
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2_500  # the builder sends up to ten inputs for each of 200 fields
REST_FRAMEWORK = REST_SETTINGS
SPECTACULAR_SETTINGS = openapi_settings(PUBLIC_URL)

# Webhooks and mail ---------------------------------------------------------------------------------------------------
WEBHOOK_ALLOW_HTTP = env.bool("WEBHOOK_ALLOW_HTTP", default=False)
WEBHOOK_ALLOWED_NETWORKS = env.list("WEBHOOK_ALLOWED_NETWORKS", default=[])  # CIDR ranges that self-hosters open
WEBHOOK_ALLOWED_PORTS = env.list("WEBHOOK_ALLOWED_PORTS", cast=int, default=[443, 80, 8443, 8080])
WEBHOOK_PROXY_URL = env.str("WEBHOOK_PROXY_URL", default="")
DELIVERY_LEASE_SECONDS = env.float("DELIVERY_LEASE_SECONDS", default=10)  # renewed while its process lives
DELIVERY_SWEEP_SECONDS = env.float("DELIVERY_SWEEP_SECONDS", default=5)  # period of Celery beat
JOBS_POLL_SECONDS = env.float("JOBS_POLL_SECONDS", default=10)  # of held submissions, and files of deleted ones
DELIVERY_POLL_SECONDS = env.float("DELIVERY_POLL_SECONDS", default=0.25)  # pause of `manage.py deliver` when idle
DELIVERY_CONCURRENCY = env.int("DELIVERY_CONCURRENCY", default=128)  # requests in flight per process
DELIVERY_PROCESSES = env.int("DELIVERY_PROCESSES", default=1)  # `manage.py deliver` that `serve` starts
MAIL_CONCURRENCY = env.int("MAIL_CONCURRENCY", default=8)  # mails in flight per process, besides those requests
EMAIL_URL = env.str("EMAIL_URL", default="consolemail://")
vars().update(env.email_url_config(EMAIL_URL))
if DEMO and EMAIL_URL.startswith("consolemail:"):
    EMAIL_BACKEND = "dashboard.pages.laptop_mails.mailbox.KeptMails"  # prints too; read at /dashboard/mails
EMAIL_TIMEOUT = 10  # seconds per socket operation; Django's default is unlimited
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Fieldpost <fieldpost@localhost>")
SERVER_EMAIL = DEFAULT_FROM_EMAIL
TEST_MAILS = env.str("TEST_MAILS", default="20/h")  # per organization
TEST_SUBMISSIONS = env.str("TEST_SUBMISSIONS", default="20/h")  # per organization, from the dashboard
TEST_EVENTS = env.str("TEST_EVENTS", default="20/h")  # per organization
REPLAYS = env.str("REPLAYS", default="20/h")  # per organization
MAILS_PER_ORGANIZATION = env.int("MAILS_PER_ORGANIZATION", default=500)  # an hour on Free; Pro 10, Enterprise 100 times
MAILS_PER_ACCOUNT = env.int("MAILS_PER_ACCOUNT", default=60)  # an hour: codes, resets, notices
SUBMISSION_PAGE = f"{PUBLIC_URL}/dashboard/submissions/"  # followed by its id: the link in a mail

# Audit trail ---------------------------------------------------------------------------------------------------------
AUDIT_RETENTION_DAYS = env.int("AUDIT_RETENTION_DAYS", default=3 * 365)

# Celery --------------------------------------------------------------------------------------------------------------
# https://docs.celeryq.dev/en/stable/userguide/configuration.html
CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False  # messages are hints; the table has the work
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_POOL = "config.supervision.worker_pool:LastingPool"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_TIMEOUT = 1  # seconds
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # unlimited: a worker survives a long outage of Redis
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # kombu has no timeout by default: an unreachable Redis would block the publisher.
    "socket_timeout": 2,  # longer than the 1 s for which a worker's BRPOP waits
    "socket_connect_timeout": 1,
    "global_keyprefix": "fieldpost:",
}

# Files, language, time, logs -----------------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"  # the web role writes each file there that is asked for, under a hashed name
STATICFILES_DIRS = [("docs", BASE_DIR / "docs" / "images")]  # pictures of the guides
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.pages.static_files.StaticFiles"},
    "files": {"BACKEND": f"submissions.files.{'s3_storage.S3Files' if FILES_URL else 'local_storage.LocalFiles'}"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False  # only forms.js is for other origins
# Each in its own words, as its reader looks for it. The API stays in LANGUAGE_CODE: nothing activates another there.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("ar", "العربية")]
LOCALE_PATHS = [BASE_DIR / "templates" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
LOGGING = logging_config(level=LOG_LEVEL, human=DEBUG or DEMO)
SENTRY_DSN = env.str("SENTRY_DSN", default="")
if SENTRY_DSN:
    start_error_reports(SENTRY_DSN)
