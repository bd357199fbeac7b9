"""System checks: a missing or unsafe setting prevents the start, with a hint (docs/contract.md 8)."""

import importlib.util
import ipaddress
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import SystemCheckError

from config.environment.variables import is_cut
from config.files.clamd_url import WrongClamdUrl, read_clamd_url
from config.files.s3_url import WrongFilesUrl, read_files_url

TAG = "fieldpost"
MIN_SECRET_KEY = 32  # characters
SHORTEST_LEASE_SECONDS = 5
POSTGRESQL = ("postgres://", "postgresql://", "psql://", "pgsql://")


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_wrong_settings() -> None:
    """Raise SystemCheckError for an error. Programs without a command of Django call it: a WSGI server, Celery."""
    errors = [error for error in checks.run_checks(tags=[TAG]) if error.is_serious()]
    if errors:
        raise SystemCheckError("\n".join(str(error) for error in errors))


@register(TAG)
def check_secret_key(**_arguments: object) -> list[CheckMessage]:
    """SECRET_KEY signs sessions and links, so it must be set and long."""
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:
        key = ""
    if len(key) >= MIN_SECRET_KEY or settings.DEBUG:
        return []
    hint = "Set SECRET_KEY to 50 random characters, or run `make run` once, which writes one to data/env."
    return [Error("SECRET_KEY is missing or shorter than 32 characters.", hint=hint, id="fieldpost.E001")]


@register(TAG)
def check_one_process_without_redis(**_arguments: object) -> list[CheckMessage]:
    """Without Redis, rate limits are counted in the process, so there may be only one."""
    if settings.WEB_CONCURRENCY <= 1 or settings.REDIS_URL:
        return []
    hint = "Set REDIS_URL, or leave WEB_CONCURRENCY at 1."
    message = "More than one web process requires Redis to share the rate limits."
    return [Error(message, hint=hint, id="fieldpost.E002")]


@register(TAG)
def check_database_url(**_arguments: object) -> list[CheckMessage]:
    """An empty SQLite file must not replace the database of a URL that got lost on its way here."""
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_REPLICA_URL"):
        if is_cut(getattr(settings, name)):
            hint = "A shell cuts a value at `&`. Read the file of settings with `manage.py --env-file FILE COMMAND`."
            return [Error(f"{name} ends in the middle of its options.", hint=hint, id="fieldpost.E028")]
    if settings.DATABASE_URL:
        return []
    file = settings.SQLITE_FILE
    hint = f"For the file of a single machine, set DATABASE_URL=sqlite:///{quote(str(file))}"
    if file.exists():
        message = f"DATABASE_URL is not set; {file} is used, because it exists."
        return [checks.Warning(message, hint=f"{hint}.", id="fieldpost.W006")]
    hint = f"Commands of a service need its settings: `manage.py --env-file FILE COMMAND`. {hint} (`make run` does)."
    message = "DATABASE_URL is not set, and there is no database in DATA_DIR."
    return [Error(message, hint=hint, id="fieldpost.E029")]


@register(TAG)
def check_replica(**_arguments: object) -> list[CheckMessage]:
    """A replica is another PostgreSQL. The URLs are not shown: they have passwords."""
    url = settings.DATABASE_REPLICA_URL
    if not url:
        return []
    if not (url.startswith(POSTGRESQL) and settings.DATABASE_URL.startswith(POSTGRESQL)):
        hint = "Remove DATABASE_REPLICA_URL, or use PostgreSQL for both: postgres://user:password@host:5432/name."
        return [Error("DATABASE_REPLICA_URL needs PostgreSQL, here and there.", hint=hint, id="fieldpost.E025")]
    if _place(url) in (_place(settings.DATABASE_URL), _place(settings.DATABASE_DIRECT_URL)):
        hint = "Set it to the address of a standby, or remove it."
        return [Error("DATABASE_REPLICA_URL is the primary itself.", hint=hint, id="fieldpost.E026")]
    return []


@register(TAG)
def check_pooler(**_arguments: object) -> list[CheckMessage]:
    """DATABASE_DIRECT_URL says that DATABASE_URL is a pooler, so it must lead elsewhere."""
    url = settings.DATABASE_DIRECT_URL
    if not url or (
        url.startswith(POSTGRESQL)
        and settings.DATABASE_URL.startswith(POSTGRESQL)
        and _place(url) != _place(settings.DATABASE_URL)
    ):
        return []
    hint = "Set DATABASE_URL to the pooler and DATABASE_DIRECT_URL to PostgreSQL itself; without a pooler remove it."
    message = "DATABASE_DIRECT_URL is not another way to the PostgreSQL of DATABASE_URL."
    return [Error(message, hint=hint, id="fieldpost.E027")]


def _place(url: str) -> tuple[str | None, int, str]:
    parts = urlsplit(url)
    return parts.hostname, parts.port or 5432, parts.path


@register(TAG)
def check_public_url(**_arguments: object) -> list[CheckMessage]:
    """PUBLIC_URL is used in snippets, mails and cookie settings."""
    parts = urlsplit(settings.PUBLIC_URL)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        hint = "Write it like https://forms.example.com, without a path."
        return [Error(f"PUBLIC_URL is not an origin: {settings.PUBLIC_URL}", hint=hint, id="fieldpost.E003")]
    is_local = is_loopback(parts.hostname)
    if settings.DEMO and not is_local:
        hint = "Remove DEMO=1 from the environment or data/env."
        return [Error("DEMO is on for a public address; it is for a laptop.", hint=hint, id="fieldpost.E004")]
    if settings.DEBUG and not is_local:
        hint = "Remove DEBUG=1: it shows settings and code to anyone who triggers an error."
        return [Error("DEBUG is on for a public address.", hint=hint, id="fieldpost.E008")]
    if parts.scheme == "http" and not is_local:
        hint = "Serve over https and set PUBLIC_URL to it: otherwise cookies and access keys travel unencrypted."
        return [checks.Warning("PUBLIC_URL is plain http.", hint=hint, id="fieldpost.W001")]
    return []


@register(TAG, deploy=True)
def check_proxy(**_arguments: object) -> list[CheckMessage]:
    """Without a proxy, a few slow clients hold every thread."""
    if settings.TRUSTED_PROXY_COUNT or is_loopback(urlsplit(settings.PUBLIC_URL).hostname or ""):
        return []
    hint = "Put nginx in front (deploy/nginx.conf) and set TRUSTED_PROXY_COUNT to the number of proxies."
    message = "TRUSTED_PROXY_COUNT is 0: no proxy protects the web from slow clients."
    return [checks.Warning(message, hint=hint, id="fieldpost.W007")]


@register(TAG)
def check_pages_url(**_arguments: object) -> list[CheckMessage]:
    """PAGES_URL is optional; pages on the dashboard's own origin would make it pointless."""
    parts = urlsplit(settings.PAGES_URL)
    is_origin = parts.scheme in ("http", "https") and parts.hostname and not parts.path and not parts.query
    if not settings.PAGES_URL or (is_origin and parts.netloc != urlsplit(settings.PUBLIC_URL).netloc):
        return []
    hint = "Write it like https://pages.example.net: an origin, without a path, on another host than PUBLIC_URL."
    return [
        Error(f"PAGES_URL is not an origin next to PUBLIC_URL: {settings.PAGES_URL}", hint=hint, id="fieldpost.E020")
    ]


@register(TAG)
def check_files_origin(**_arguments: object) -> list[CheckMessage]:
    """FILES_ORIGIN is optional; on the origin of the dashboard or of pages it would be pointless."""
    parts = urlsplit(settings.FILES_ORIGIN)
    is_origin = parts.scheme in ("http", "https") and parts.hostname and not parts.path and not parts.query
    others = {urlsplit(url).netloc for url in (settings.PUBLIC_URL, settings.PAGES_URL) if url}
    if not settings.FILES_ORIGIN or (is_origin and parts.netloc not in others):
        return []
    hint = "Write it like https://files.example.net: an origin, without a path, on a host that serves nothing else."
    return [Error(f"FILES_ORIGIN is not an origin: {settings.FILES_ORIGIN}", hint=hint, id="fieldpost.E024")]


@register(TAG)
def check_events_url(**_arguments: object) -> list[CheckMessage]:
    """Browsers do not open an http stream from an https page."""
    if not settings.PUBLIC_URL.startswith("https://") or settings.EVENTS_URL.startswith("https://"):
        return []
    hint = "Route https://…/events to EVENTS_PORT and set EVENTS_URL to it."
    message = "EVENTS_URL is plain http while PUBLIC_URL is https: submissions will not appear live."
    return [checks.Warning(message, hint=hint, id="fieldpost.W004")]


@register(TAG)
def check_hosts(**_arguments: object) -> list[CheckMessage]:
    """With a wildcard, any client could put its own host into our links."""
    if "*" not in settings.ALLOWED_HOSTS or settings.DEBUG:
        return []
    hint = "List the hosts that this service serves."
    return [Error("ALLOWED_HOSTS accepts every host.", hint=hint, id="fieldpost.E005")]


@register(TAG)
def check_webhook_settings(**_arguments: object) -> list[CheckMessage]:
    """Networks must be CIDR ranges; a lease shorter than an attempt would let two workers send the same delivery."""
    found: list[CheckMessage] = []
    for network in settings.WEBHOOK_ALLOWED_NETWORKS:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            hint = "Write it like 10.0.0.0/8."
            found.append(
                Error(f"WEBHOOK_ALLOWED_NETWORKS: {network!r} is not a network.", hint=hint, id="fieldpost.E006")
            )
    if settings.WEBHOOK_PROXY_URL and urlsplit(settings.WEBHOOK_PROXY_URL).scheme not in ("http", "https"):
        hint = "Write it like http://proxy.internal:3128."
        found.append(Error("WEBHOOK_PROXY_URL is not an http or https URL.", hint=hint, id="fieldpost.E007"))
    if settings.DELIVERY_LEASE_SECONDS < SHORTEST_LEASE_SECONDS:
        hint = "Keep the default of 10, except in tests."
        message = "DELIVERY_LEASE_SECONDS is too short to be renewed by a busy process; deliveries can be sent twice."
        found.append(checks.Warning(message, hint=hint, id="fieldpost.W002"))
    return found


@register(TAG)
def check_files_url(**_arguments: object) -> list[CheckMessage]:
    """FILES_URL needs packages that are not installed by default. Its text is not shown: it has a secret."""
    if not settings.FILES_URL:
        return []
    found: list[CheckMessage] = []
    if missing := [name for name in ("boto3", "storages") if importlib.util.find_spec(name) is None]:
        hint = "Install the packages boto3 and django-storages, or remove FILES_URL to store files in DATA_DIR/files."
        message = f"FILES_URL is set, and {' and '.join(missing)} cannot be imported."
        found.append(Error(message, hint=hint, id="fieldpost.E021"))
    try:
        bucket = read_files_url(settings.FILES_URL)
    except WrongFilesUrl as error:
        hint = (
            "Write it like s3://KEY:SECRET@s3.example.com/bucket?region=eu-central-1, "
            "keys percent-encoded (/ is %2F, + is %2B)."
        )
        return [*found, Error(f"FILES_URL is wrong. {error}", hint=hint, id="fieldpost.E022")]
    host = urlsplit(bucket.endpoint or "").hostname
    if bucket.endpoint and bucket.endpoint.startswith("http:") and host not in ("localhost", "127.0.0.1", "::1"):
        hint = "Remove scheme=http: otherwise files travel unencrypted."
        found.append(checks.Warning("FILES_URL is plain http.", hint=hint, id="fieldpost.W005"))
    return found


@register(TAG)
def check_clamd_url(**_arguments: object) -> list[CheckMessage]:
    """A scanner that cannot be reached delays every submission with files by 15 minutes."""
    if not settings.CLAMD_URL:
        return []
    try:
        read_clamd_url(settings.CLAMD_URL)
    except WrongClamdUrl:
        hint = "Write it like tcp://127.0.0.1:3310 or unix:///run/clamav/clamd.ctl."
        return [Error(f"CLAMD_URL is not an address of clamd: {settings.CLAMD_URL}", hint=hint, id="fieldpost.E023")]
    return []


@register(TAG)
def check_mail(**_arguments: object) -> list[CheckMessage]:
    """Mails that are printed to the terminal reach nobody."""
    if settings.DEBUG or settings.DEMO or "console" not in settings.EMAIL_BACKEND:
        return []
    hint = "Set EMAIL_URL, such as smtp+tls://user:password@mail.example.com:587."
    return [checks.Warning("EMAIL_URL is not set; mails are only printed.", hint=hint, id="fieldpost.W003")]
