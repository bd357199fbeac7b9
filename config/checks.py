"""System checks: a missing or unsafe setting prevents the start, with a hint (docs/contract.md 8)."""

import importlib.util
import ipaddress
import re
from collections.abc import Iterator
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
CHOICES = {
    "SIGN_UP": ("open", "invited", "closed"),
    "DEFAULT_PLAN": ("free", "pro", "enterprise"),
    "ORGANIZATIONS": ("open", "operators"),
    "OIDC_DEFAULT_ROLE": ("viewer", "member", "admin", "owner"),
}
HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")  # gunicorn drops names with other characters, WSGI merges `_` with `-`
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
def check_secret_key(**_arguments: object) -> Iterator[CheckMessage]:
    """SECRET_KEY signs sessions and links, so it must be set and long."""
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:
        key = ""
    if len(key) < MIN_SECRET_KEY and not settings.DEBUG:
        hint = "Set SECRET_KEY to 50 random characters, or run `make run` once, which writes one to data/env."
        yield Error("SECRET_KEY is missing or shorter than 32 characters.", hint=hint, id="fieldpost.E001")


@register(TAG)
def check_one_process_without_redis(**_arguments: object) -> Iterator[CheckMessage]:
    """Without Redis, rate limits are counted in the process, so there may be only one."""
    if settings.WEB_CONCURRENCY > 1 and not settings.REDIS_URL:
        hint = "Set REDIS_URL, or leave WEB_CONCURRENCY at 1."
        message = "More than one web process requires Redis to share the rate limits."
        yield Error(message, hint=hint, id="fieldpost.E002")


@register(TAG)
def check_choices(**_arguments: object) -> Iterator[CheckMessage]:
    """A misspelled choice must not open an installation, nor close it."""
    for name, those in CHOICES.items():
        if getattr(settings, name) not in those:
            hint = f"Set {name} to {' or '.join(those)}."
            yield Error(f"{name} has an unknown value.", hint=hint, id="fieldpost.E030")


@register(TAG, deploy=True)
def check_open_sign_up(**_arguments: object) -> Iterator[CheckMessage]:
    """Strangers who sign up are on the default plan."""
    if settings.SIGN_UP == "open" and settings.DEFAULT_PLAN != "free":
        message = f"Anyone can sign up, and gets the limits of the plan {settings.DEFAULT_PLAN}."
        yield checks.Warning(message, hint="Set DEFAULT_PLAN=free, or SIGN_UP=invited.", id="fieldpost.W008")


@register(TAG)
def check_database_url(**_arguments: object) -> Iterator[CheckMessage]:
    """An empty SQLite file must not replace the database of a URL that got lost on its way here."""
    for name in ("DATABASE_URL", "DATABASE_DIRECT_URL", "DATABASE_REPLICA_URL"):
        if is_cut(getattr(settings, name)):
            hint = "A shell cuts a value at `&`. Read the file of settings with `manage.py --env-file FILE COMMAND`."
            yield Error(f"{name} ends in the middle of its options.", hint=hint, id="fieldpost.E028")
            return
    if settings.DATABASE_URL:
        return
    file = settings.SQLITE_FILE
    ours = f"For the file of a single machine, set DATABASE_URL=sqlite:///{quote(str(file))}"
    if file.exists():
        message = f"DATABASE_URL is not set; {file} is used, because it exists."
        yield checks.Warning(message, hint=f"{ours}.", id="fieldpost.W006")
    else:
        hint = "Commands of a service need its settings: `manage.py --env-file FILE COMMAND`."
        message = "DATABASE_URL is not set, and there is no database in DATA_DIR."
        yield Error(message, hint=f"{hint} {ours} (`make run` does).", id="fieldpost.E029")


@register(TAG)
def check_replica(**_arguments: object) -> Iterator[CheckMessage]:
    """A replica is another PostgreSQL. The URLs are not shown: they have passwords."""
    url, main = settings.DATABASE_REPLICA_URL, settings.DATABASE_URL
    if url and not (url.startswith(POSTGRESQL) and main.startswith(POSTGRESQL)):
        hint = "Remove DATABASE_REPLICA_URL, or use PostgreSQL for both: postgres://user:password@host:5432/name."
        yield Error("DATABASE_REPLICA_URL needs PostgreSQL, here and there.", hint=hint, id="fieldpost.E025")
    elif url and _place(url) in (_place(main), _place(settings.DATABASE_DIRECT_URL)):
        hint = "Set it to the address of a standby, or remove it."
        yield Error("DATABASE_REPLICA_URL is the primary itself.", hint=hint, id="fieldpost.E026")


@register(TAG)
def check_pooler(**_arguments: object) -> Iterator[CheckMessage]:
    """DATABASE_DIRECT_URL says that DATABASE_URL is a pooler, so it must lead elsewhere."""
    url, main = settings.DATABASE_DIRECT_URL, settings.DATABASE_URL
    is_another = url.startswith(POSTGRESQL) and main.startswith(POSTGRESQL) and _place(url) != _place(main)
    if url and not is_another:
        hint = (
            "Set DATABASE_URL to the pooler and DATABASE_DIRECT_URL to PostgreSQL itself; without a pooler remove it."
        )
        message = "DATABASE_DIRECT_URL is not another way to the PostgreSQL of DATABASE_URL."
        yield Error(message, hint=hint, id="fieldpost.E027")


def _place(url: str) -> tuple[str | None, int, str]:
    parts = urlsplit(url)
    return parts.hostname, parts.port or 5432, parts.path


def _is_origin(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.path or parts.query)


@register(TAG)
def check_public_url(**_arguments: object) -> Iterator[CheckMessage]:
    """PUBLIC_URL is used in snippets, mails and cookie settings."""
    parts = urlsplit(settings.PUBLIC_URL)
    is_local = is_loopback(parts.hostname or "")
    if not _is_origin(settings.PUBLIC_URL):
        hint = "Write it like https://forms.example.com, without a path."
        yield Error(f"PUBLIC_URL is not an origin: {settings.PUBLIC_URL}", hint=hint, id="fieldpost.E003")
    elif settings.DEMO and not is_local:
        hint = "Remove DEMO=1 from the environment or data/env."
        yield Error("DEMO is on for a public address; it is for a laptop.", hint=hint, id="fieldpost.E004")
    elif settings.DEBUG and not is_local:
        hint = "Remove DEBUG=1: it shows settings and code to anyone who triggers an error."
        yield Error("DEBUG is on for a public address.", hint=hint, id="fieldpost.E008")
    elif parts.scheme == "http" and not is_local:
        hint = "Serve over https and set PUBLIC_URL to it: otherwise cookies and access keys travel unencrypted."
        yield checks.Warning("PUBLIC_URL is plain http.", hint=hint, id="fieldpost.W001")


@register(TAG, deploy=True)
def check_proxy(**_arguments: object) -> Iterator[CheckMessage]:
    """Without a proxy, a few slow clients hold every thread."""
    if not (settings.TRUSTED_PROXY_COUNT or is_loopback(urlsplit(settings.PUBLIC_URL).hostname or "")):
        hint = "Put nginx in front (deploy/nginx.conf) and set TRUSTED_PROXY_COUNT to the number of proxies."
        message = "TRUSTED_PROXY_COUNT is 0: no proxy protects the web from slow clients."
        yield checks.Warning(message, hint=hint, id="fieldpost.W007")


@register(TAG)
def check_pages_url(**_arguments: object) -> Iterator[CheckMessage]:
    """PAGES_URL is optional; pages on the dashboard's own origin would make it pointless."""
    url = settings.PAGES_URL
    if url and not (_is_origin(url) and urlsplit(url).netloc != urlsplit(settings.PUBLIC_URL).netloc):
        hint = "Write it like https://pages.example.net: an origin, without a path, on another host than PUBLIC_URL."
        yield Error(f"PAGES_URL is not an origin next to PUBLIC_URL: {url}", hint=hint, id="fieldpost.E020")


@register(TAG)
def check_files_origin(**_arguments: object) -> Iterator[CheckMessage]:
    """FILES_ORIGIN is optional; on the origin of the dashboard or of pages it would be pointless."""
    url = settings.FILES_ORIGIN
    others = {urlsplit(other).netloc for other in (settings.PUBLIC_URL, settings.PAGES_URL)}
    if url and not (_is_origin(url) and urlsplit(url).netloc not in others):
        hint = "Write it like https://files.example.net: an origin, without a path, on a host that serves nothing else."
        yield Error(f"FILES_ORIGIN is not an origin: {url}", hint=hint, id="fieldpost.E024")


@register(TAG)
def check_events_url(**_arguments: object) -> Iterator[CheckMessage]:
    """Browsers do not open an http stream from an https page."""
    if settings.PUBLIC_URL.startswith("https://") and not settings.EVENTS_URL.startswith("https://"):
        hint = "Route https://…/events to EVENTS_PORT and set EVENTS_URL to it."
        message = "EVENTS_URL is plain http while PUBLIC_URL is https: submissions will not appear live."
        yield checks.Warning(message, hint=hint, id="fieldpost.W004")


@register(TAG)
def check_remote_user(**_arguments: object) -> Iterator[CheckMessage]:
    """The header decides who is logged in, so it must be known who may send it."""
    name = settings.REMOTE_USER_HEADER
    if not name:
        return
    if not HEADER_NAME.fullmatch(name):
        hint = "Write it like Remote-Email, with letters, digits and hyphens."
        yield Error(f"REMOTE_USER_HEADER is not a name of a header: {name}", hint=hint, id="fieldpost.E037")
    hint = "List the addresses from which your proxies connect, like 127.0.0.1/32,10.0.0.5/32."
    if not settings.TRUSTED_PROXIES:
        message = "REMOTE_USER_HEADER is set, and TRUSTED_PROXIES is empty."
        yield Error(message, hint=hint, id="fieldpost.E038")
    for network in settings.TRUSTED_PROXIES:
        try:
            is_everybody = ipaddress.ip_network(network).prefixlen == 0
        except ValueError:
            yield Error(f"TRUSTED_PROXIES: {network!r} is not a network.", hint=hint, id="fieldpost.E039")
            continue
        if is_everybody:
            message = f"TRUSTED_PROXIES: {network} is everybody, who could log in as anybody."
            yield Error(message, hint=hint, id="fieldpost.E040")


@register(TAG)
def check_hosts(**_arguments: object) -> Iterator[CheckMessage]:
    """With a wildcard, any client could put its own host into our links."""
    if "*" in settings.ALLOWED_HOSTS and not settings.DEBUG:
        hint = "List the hosts that this service serves."
        yield Error("ALLOWED_HOSTS accepts every host.", hint=hint, id="fieldpost.E005")


@register(TAG)
def check_webhook_settings(**_arguments: object) -> Iterator[CheckMessage]:
    """Networks must be CIDR ranges; a lease shorter than an attempt would let two workers send the same delivery."""
    for network in settings.WEBHOOK_ALLOWED_NETWORKS:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            message, hint = f"WEBHOOK_ALLOWED_NETWORKS: {network!r} is not a network.", "Write it like 10.0.0.0/8."
            yield Error(message, hint=hint, id="fieldpost.E006")
    if settings.WEBHOOK_PROXY_URL and urlsplit(settings.WEBHOOK_PROXY_URL).scheme not in ("http", "https"):
        hint = "Write it like http://proxy.internal:3128."
        yield Error("WEBHOOK_PROXY_URL is not an http or https URL.", hint=hint, id="fieldpost.E007")
    if settings.DELIVERY_LEASE_SECONDS < SHORTEST_LEASE_SECONDS:
        hint = "Keep the default of 10, except in tests."
        message = "DELIVERY_LEASE_SECONDS is too short to be renewed by a busy process; deliveries can be sent twice."
        yield checks.Warning(message, hint=hint, id="fieldpost.W002")


@register(TAG)
def check_files_url(**_arguments: object) -> Iterator[CheckMessage]:
    """FILES_URL needs packages that are not installed by default. Its text is not shown: it has a secret."""
    if not settings.FILES_URL:
        return
    if missing := [name for name in ("boto3", "storages") if importlib.util.find_spec(name) is None]:
        hint = "Install the packages boto3 and django-storages, or remove FILES_URL to store files in DATA_DIR/files."
        message = f"FILES_URL is set, and {' and '.join(missing)} cannot be imported."
        yield Error(message, hint=hint, id="fieldpost.E021")
    try:
        endpoint = read_files_url(settings.FILES_URL).endpoint or ""
    except WrongFilesUrl as error:
        hint = (
            "Write it like s3://KEY:SECRET@s3.example.com/bucket?region=eu-central-1, "
            "keys percent-encoded (/ is %2F, + is %2B)."
        )
        yield Error(f"FILES_URL is wrong. {error}", hint=hint, id="fieldpost.E022")
        return
    if endpoint.startswith("http:") and urlsplit(endpoint).hostname not in ("localhost", "127.0.0.1", "::1"):
        hint = "Remove scheme=http: otherwise files travel unencrypted."
        yield checks.Warning("FILES_URL is plain http.", hint=hint, id="fieldpost.W005")


@register(TAG)
def check_clamd_url(**_arguments: object) -> Iterator[CheckMessage]:
    """A scanner that cannot be reached delays every submission with files by 15 minutes."""
    try:
        if settings.CLAMD_URL:
            read_clamd_url(settings.CLAMD_URL)
    except WrongClamdUrl:
        hint = "Write it like tcp://127.0.0.1:3310 or unix:///run/clamav/clamd.ctl."
        yield Error(f"CLAMD_URL is not an address of clamd: {settings.CLAMD_URL}", hint=hint, id="fieldpost.E023")


@register(TAG)
def check_mail(**_arguments: object) -> Iterator[CheckMessage]:
    """Mails that are printed to the terminal reach nobody."""
    if "console" in settings.EMAIL_BACKEND and not (settings.DEBUG or settings.DEMO):
        hint = "Set EMAIL_URL, such as smtp+tls://user:password@mail.example.com:587."
        yield checks.Warning("EMAIL_URL is not set; mails are only printed.", hint=hint, id="fieldpost.W003")
