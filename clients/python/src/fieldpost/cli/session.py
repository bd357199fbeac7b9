"""Sessions of a command: which service, and which key goes there."""

from dataclasses import dataclass

from fieldpost.cli.output import CommandError
from fieldpost.cli.profiles import Profile, load, profile_name
from fieldpost.client import Client
from fieldpost.transport import base_url, environment


@dataclass(frozen=True)
class Session:
    """A service with a key; `profile` is None where the key is of the environment."""

    url: str
    key: str
    profile: str | None
    stored: Profile | None

    def client(self) -> Client:
        return Client(self.url, self.key)


def open_session(mode: str = "live") -> Session:
    """Return the session of FIELDPOST_KEY, or of the profile: with its `live` or its `test` key."""
    name, key, url = profile_name(), environment("FIELDPOST_KEY"), environment("FIELDPOST_URL")
    stored = load(name) if not key or not url else None
    if key:
        if not (url or stored):
            raise CommandError("usage", "Set FIELDPOST_URL to the address of the service that FIELDPOST_KEY is of.")
        return Session(base_url(url or (stored.url if stored else "")), key, None, None)
    if stored is None:
        raise CommandError("not_logged_in", f"The profile {name} has no key. Log in with `fieldpost login`.")
    if url and base_url(url) != stored.url:
        raise CommandError(
            "not_logged_in",
            f"The profile {name} is of {stored.url}, and its key goes nowhere else. For {url} choose another profile "
            "with FIELDPOST_PROFILE, and log in there.",
        )
    return Session(stored.url, stored.key(mode), name, stored)
