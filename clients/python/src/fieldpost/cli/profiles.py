"""Profiles: an address with its keys, in files that only their owner reads, or in the system's keyring."""

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fieldpost.cli.output import CommandError
from fieldpost.transport import environment

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
KEYRING_SERVICE = "fieldpost"
MODES = ("live", "test")


@dataclass(frozen=True)
class Profile:
    """The result of a login. `live` and `test` are key records with the member `key`."""

    url: str
    events_url: str
    organization: dict[str, Any]
    live: dict[str, Any]
    test: dict[str, Any]

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the key records by mode."""
        return {"live": self.live, "test": self.test}

    def key(self, mode: str) -> str:
        """Return the live or the test key."""
        return str(self.records()[mode]["key"])


def profile_name() -> str:
    name = environment("FIELDPOST_PROFILE") or "default"
    if not NAME.fullmatch(name):
        raise CommandError("usage", "FIELDPOST_PROFILE may have letters, digits, - and _, at most 64.")
    return name


def folder() -> Path:
    base = environment("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "fieldpost"


def load(name: str) -> Profile | None:
    path = folder() / f"{name}.json"
    try:
        stored = json.loads(path.read_text())
        for mode in MODES:
            if "key" not in stored[mode]:
                stored[mode]["key"] = _from_keyring(stored[mode]["id"])
        return Profile(**stored)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise CommandError("invalid_file", f"{path} is no profile: log in again with `fieldpost login`.") from None


def save(name: str, profile: Profile) -> None:
    """Store a profile; its keys in the keyring where there is one, else in the file."""
    stored = asdict(profile)
    keyring = _keyring()
    if keyring is not None:
        for mode in profile.records():
            keyring.set_password(KEYRING_SERVICE, stored[mode]["id"], stored[mode].pop("key"))
    place = folder()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.chmod(0o700)
    write_private(place / f"{name}.json", json.dumps(stored, indent=2) + "\n")


def forget(name: str, profile: Profile) -> None:
    keyring = _keyring()
    if keyring is not None:
        for record in profile.records().values():
            with suppress(Exception):  # one that is not there, or any error of a backend
                keyring.delete_password(KEYRING_SERVICE, record["id"])
    (folder() / f"{name}.json").unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file by one of mode 0600: never by a moment in which others could read it."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def _keyring() -> Any:
    """Return the package keyring where it is installed and has a place to store."""
    try:
        import keyring
        from keyring.backends import fail
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), fail.Keyring) else keyring


def _from_keyring(key_id: str) -> str:
    keyring = _keyring()
    key = keyring and keyring.get_password(KEYRING_SERVICE, key_id)
    if not key:
        raise CommandError("not_logged_in", "The keyring has lost the key: log in with `fieldpost login`.")
    return str(key)
