"""Logins: `login`, `logout` and `whoami`."""

import json
from contextlib import suppress
from typing import Any

import click

from fieldpost.cli.device_login import begin, wait
from fieldpost.cli.output import CommandError, is_for_people, printable, show
from fieldpost.cli.profiles import Profile, forget, load, profile_name, save
from fieldpost.cli.session import Session, open_session
from fieldpost.errors import APIError, Error
from fieldpost.transport import Transport, environment


@click.command()
def whoami() -> None:
    """Show the service, the organization and the key that commands use."""
    show_session(open_session())


@click.command()
@click.option("--url", help="The address of the service; else that of FIELDPOST_URL, or of the profile.")
def login(url: str | None) -> None:
    """
    Log in by a code that you confirm in the browser.

    The profile then has a live and a test key. An owner or admin of the organization confirms.
    """
    name = profile_name()
    before = load(name)
    address = url or environment("FIELDPOST_URL") or (before.url if before else None)
    if address is None:
        raise CommandError("usage", "Say which service: fieldpost login --url https://forms.example.com")
    transport = Transport(address, None)
    begun = begin(transport)
    _show_code(begun)
    granted = wait(transport, begun)
    if before is not None:
        with suppress(Error):  # keys of a login that this one replaces; they may be gone already
            _revoke(before)
    made = Profile(transport.url, granted["eventsUrl"], granted["organization"], granted["live"], granted["test"])
    save(name, made)
    show_session(Session(made.url, made.key("live"), name, made))


@click.command()
def logout() -> None:
    """Revoke the keys of the profile, and forget them."""
    name = profile_name()
    profile = load(name)
    if profile is None:
        raise CommandError("not_logged_in", f"The profile {name} has no key.")
    revoked = _revoke(profile)
    forget(name, profile)
    document = {"url": profile.url, "profile": name, "revoked": revoked}
    show(document, lambda: f"Logged out of {profile.url}: the keys of the profile {name} are revoked.")


def show_session(session: Session) -> None:
    """Print whose key this is; the service is asked."""
    me = session.client().me()
    key: dict[str, Any] = me["key"]
    document = {"url": session.url, "profile": session.profile, "organization": me["organization"], "key": key}
    where = f"profile {session.profile}" if session.profile else "FIELDPOST_KEY"
    name = me["organization"]["name"]
    show(document, lambda: printable(f"{name} at {session.url}\nKey “{key['name']}” ({key['hint']}), {where}"))


def _show_code(begun: dict[str, Any]) -> None:
    document = {
        "verificationUri": begun["verification_uri"],
        "verificationUriComplete": begun["verification_uri_complete"],
        "userCode": begun["user_code"],
        "expiresIn": begun["expires_in"],
    }
    if not is_for_people():
        click.echo(json.dumps(document))
        return
    text = f"Open {document['verificationUriComplete']}\nand confirm the code {document['userCode']}. Waiting …"
    click.echo(printable(text))


def _revoke(profile: Profile) -> list[str]:
    """Revoke the profile's keys, each by itself. Return the ids of those that were valid until now."""
    revoked = []
    for record in profile.records().values():
        key_id = str(record["id"])
        try:
            Transport(profile.url, str(record["key"])).request("DELETE", f"/api/keys/{key_id}")
        except APIError as error:
            if error.code != "invalid_access_key":
                raise
        else:
            revoked.append(key_id)
    return revoked
