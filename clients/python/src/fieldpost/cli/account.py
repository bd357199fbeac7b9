"""Logins: `whoami`."""

from typing import Any

import click

from fieldpost.cli.output import show
from fieldpost.cli.session import Session, open_session


@click.command()
def whoami() -> None:
    """Show the service, the organization and the key that commands use."""
    show_session(open_session())


def show_session(session: Session) -> None:
    """Print whose key this is; the service is asked."""
    me = session.client().me()
    key: dict[str, Any] = me["key"]
    document = {
        "url": session.url,
        "profile": session.profile,
        "organization": me["organization"],
        "key": key,
    }
    where = f"profile {session.profile}" if session.profile else "FIELDPOST_KEY"
    show(
        document, lambda: f"{me['organization']['name']} at {session.url}\nKey “{key['name']}” ({key['hint']}), {where}"
    )
