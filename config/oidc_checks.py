"""System checks of single sign-on: an issuer that can be believed, and settings that fit together."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004  # Django's name

from config.checks import TAG, is_loopback

# Anybody can have an account there, so an address that nobody has verified can be anybody's.
SHARED_HOSTS = {
    "accounts.google.com", "appleid.apple.com", "gitlab.com", "slack.com", "www.linkedin.com", "www.facebook.com",
    "login.yahoo.com", "api.login.yahoo.com", "id.twitch.tv", "login.salesforce.com", "www.paypal.com",
    "access.line.me", "github.com", "token.actions.githubusercontent.com",
}  # fmt: skip
# Microsoft has an issuer for each tenant, and these: https://learn.microsoft.com/entra/identity-platform/v2-protocols
MICROSOFT = (
    "login.microsoftonline.com",
    "login.microsoftonline.us",
    "login.partner.microsoftonline.cn",
    "sts.windows.net",
)
SHARED_TENANTS = ("common", "organizations", "consumers", "{tenantid}", "9188040d-6c67-4c5b-b112-36a304b66dad")


def may_be_called(url: str) -> bool:
    """Return whether a URL is https, or http on this machine, and nothing odd."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not {" ", "\\", "#"} & set(url) and "@" not in parts.netloc
    return bool(host) and is_plain and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def is_shared(issuer: str) -> bool:
    """Return whether many organizations, or everybody, have accounts at this issuer."""
    parts = urlsplit(issuer.lower())
    host, tenant = (parts.hostname or "").rstrip("."), parts.path.strip("/").partition("/")[0]
    return host in SHARED_HOSTS or (host in MICROSOFT and tenant in ("", *SHARED_TENANTS))


@register(TAG)
def check_issuer(**_arguments: object) -> Iterator[CheckMessage]:
    """Tokens of an issuer over http could be anybody's."""
    if not settings.OIDC_ISSUER:
        needing = [name for name in ("OIDC_ONLY", "OIDC_IS_SECOND_STEP", "OIDC_TRUST_EMAIL") if getattr(settings, name)]
        if needing:
            hint = f"Set OIDC_ISSUER, or remove {' and '.join(needing)}."
            yield Error(f"{' and '.join(needing)} without OIDC_ISSUER.", hint=hint, id="fieldpost.E032")
        return
    if not may_be_called(settings.OIDC_ISSUER) or "?" in settings.OIDC_ISSUER:
        hint = "Write it like https://login.example.com/realms/acme, as the issuer spells it. http is for this machine."
        yield Error("OIDC_ISSUER is not an https address.", hint=hint, id="fieldpost.E033")
    for name in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_NAME"):
        if not getattr(settings, name):
            hint = f"Set {name} to what the issuer shows for this client." if name != "OIDC_NAME" else "Set OIDC_NAME."
            yield Error(f"{name} is missing.", hint=hint, id="fieldpost.E034")
    if settings.OIDC_SESSION_HOURS <= 0:
        yield Error("OIDC_SESSION_HOURS is not positive.", hint="Set it to 24, for example.", id="fieldpost.E035")


@register(TAG)
def check_trust(**_arguments: object) -> Iterator[CheckMessage]:
    """Where anybody can have an account, an address that nobody has verified would open somebody else's account."""
    if not (may_be_called(settings.OIDC_ISSUER) and is_shared(settings.OIDC_ISSUER)):
        return
    if settings.OIDC_TRUST_EMAIL:
        hint = "Remove OIDC_TRUST_EMAIL, or use the issuer of one tenant."
        message = "OIDC_TRUST_EMAIL is on for an issuer that many tenants share."
        yield Error(message, hint=hint, id="fieldpost.E036")
    if settings.OIDC_ORGANIZATION:
        hint = "Use the issuer of one tenant, or remove OIDC_ORGANIZATION: new people need an invitation then."
        message = "Everybody with an account at OIDC_ISSUER may join OIDC_ORGANIZATION, unless the issuer limits it."
        yield Warning(message, hint=hint, id="fieldpost.W010")
