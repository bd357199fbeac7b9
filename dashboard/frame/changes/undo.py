"""
Undo: a change takes effect immediately, and the page after it offers to take it back for 10 seconds.

The button is a form that posts to the ordinary action of the other direction, such as "activate" after "disable", with
a signed token. Within its time the token makes the action an undo, which also restores what the change took along;
later the same button is the ordinary action. docs/design.md says which changes ask first instead.
"""

import datetime as dt

from django.core import signing
from django.http import HttpRequest

OFFERED_FOR = dt.timedelta(seconds=10)
GRACE = dt.timedelta(seconds=5)  # for the way to the browser and back
FIELD = "undo"  # of the form; holds the token
SESSION_KEY = "undo"  # holds the offer until a page has shown it


def offer_undo(request: HttpRequest, text: str, *, address: str, later: str, kept: str) -> None:
    """
    Show `text`, whole sentences, with an "Undo" button on the next page.

    `address`: the action that reverts it. `later`: the label of the button when the time is over. `kept`: what the
    action gets back from `undone`.
    """
    token = signing.dumps([address, kept], salt=SESSION_KEY)
    request.session[SESSION_KEY] = {"text": text, "address": address, "later": later, "token": token}


def take_offer(request: HttpRequest) -> dict[str, str] | None:
    """Return `{text, address, later, token}` of the offer that no page has shown yet, once."""
    offer: dict[str, str] | None = request.session.pop(SESSION_KEY, None)
    return offer


def undone(request: HttpRequest) -> str | None:
    """Return what `offer_undo` kept, if this POST is an undo of this very thing and in time; else None."""
    try:
        token = request.POST.get(FIELD, "")
        address, kept = signing.loads(token, salt=SESSION_KEY, max_age=OFFERED_FOR + GRACE)
    except signing.BadSignature:
        return None
    return str(kept) if address == request.path else None
