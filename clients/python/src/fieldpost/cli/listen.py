"""`fieldpost listen`: submissions as they come, forwarded to a server on this machine as a webhook has them."""

import json
import signal
from collections.abc import Callable
from typing import Any

import click
import urllib3
from urllib3.exceptions import HTTPError

from fieldpost.cli.event_stream import Event, events
from fieldpost.cli.output import CommandError, is_for_people, printable
from fieldpost.cli.session import Session, open_session
from fieldpost.cli.submissions import find_form
from fieldpost.transport import Transport, base_url

FORWARD_SECONDS = 15.0  # for an answer, as webhooks have


@click.command()
@click.option("--forward-to", metavar="URL", help="Post each message there, signed, as a webhook does.")
@click.option("--form", metavar="KEY", help="Submissions of one form only.")
@click.option("--live", is_flag=True, help="Live submissions instead of test submissions.")
@click.option("--print-secret", is_flag=True, help="Print the secret that signs the messages, and end.")
def listen(forward_to: str | None, form: str | None, live: bool, print_secret: bool) -> None:
    """
    Show submissions as they come, or forward them.

    Messages are signed as those of webhooks are, with a secret that stays the same: your code verifies them without a
    change. What your server refuses is shown, and not sent again. Ctrl-C ends it.
    """
    for ending in (signal.SIGINT, signal.SIGTERM):  # a shell starts commands in the background with SIGINT ignored
        signal.signal(ending, signal.default_int_handler)
    if forward_to is not None:
        base_url(forward_to.partition("?")[0])
    try:
        session = open_session("live" if live else "test")
        mode = key_mode(session, is_live_fine=live)
        query = {"mode": "listen"}
        if form:
            query["formId"] = find_form(session.client(), form)
        found = events(Transport(events_url(session), session.key), query)
        _show(found.__next__, mode, forward_to, only_secret=print_secret)
    except KeyboardInterrupt:
        return


def key_mode(session: Session, *, is_live_fine: bool) -> str:
    """Return the mode of the session's key, `live` or `test`. Raises CommandError for a live one without --live."""
    mode = str(session.client().me()["key"].get("mode", "live"))
    if mode == "live" and not is_live_fine:
        raise CommandError("live_key", "FIELDPOST_KEY is a live key. Say --live, or use a test key.")
    return mode


def events_url(session: Session) -> str:
    """Return where the service streams. Raises CommandError where the key would travel without TLS, unlike before."""
    url = session.stored.events_url if session.stored else str(session.client().me()["eventsUrl"])
    if session.url.startswith("https:") and not url.startswith("https:"):
        raise CommandError("not_fieldpost", f"{session.url} streams at {url}, which would show the key to the network.")
    return url


def _show(following: Callable[[], Event], mode: str, forward_to: str | None, *, only_secret: bool) -> None:
    secret, pool = "", urllib3.PoolManager(retries=False, timeout=FORWARD_SECONDS)
    while True:
        event = following()
        if event.name == "ready":
            if event.data["secret"] != secret:  # not again after each cut
                secret = event.data["secret"]
                shown = {
                    "type": "ready",
                    "secret": secret,
                    "mode": event.data.get("mode", mode),
                    "forwardTo": forward_to,
                }
                _print(shown, secret if only_secret else f"Ready for {shown['mode']} submissions. Secret: {secret}")
            if only_secret:
                return
        elif event.name == "message":
            _show_message(event.data, forward_to, pool)


def _show_message(message: dict[str, Any], forward_to: str | None, pool: urllib3.PoolManager) -> None:
    body = json.loads(message["body"])
    headers = {name.lower(): str(value) for name, value in message["headers"].items()}
    submission = body["data"].get("id")
    shown = {"type": body["type"], "id": headers["webhook-id"], "submissionId": submission}
    if forward_to is None:
        _print({**shown, "body": body, "error": None}, f"{body['type']} {submission}")
        return
    status, error = _forward(pool, forward_to, headers, message["body"])
    _print({**shown, "status": status, "error": error}, f"{body['type']} {submission} → {error or status}")


def _forward(pool: urllib3.PoolManager, url: str, headers: dict[str, str], body: str) -> tuple[int | None, str | None]:
    """Post a message; return the status, or what went wrong."""
    sent = {"Content-Type": "application/json", **headers}
    try:
        answer = pool.urlopen("POST", url, body=body.encode(), headers=sent, redirect=False)
    except HTTPError as error:
        return None, f"{url} cannot be reached: {error}"
    return answer.status, None


def _print(document: dict[str, Any], text: str) -> None:
    click.echo(printable(text) if is_for_people() else json.dumps(document, ensure_ascii=False))
