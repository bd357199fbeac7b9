"""
Undo: a change takes effect immediately, and the page after it offers to take it back for 10 seconds.

The button is a form that posts to the ordinary action of the other direction, such as "activate" after "disable", with
a signed token. Within its time the token makes the action an undo, which also restores what the change took along;
later the same button is the ordinary action. docs/design.md says which changes ask first instead.
"""

import dataclasses
import datetime as dt

from django.core import signing
from django.http import HttpRequest

OFFERED_FOR = dt.timedelta(seconds=10)
GRACE = dt.timedelta(seconds=5)  # for the way to the browser and back
FIELD = "undo"  # of the form; holds the token
SESSION_KEY = "undo"  # holds the offer until a page has shown it


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """
    `text`: what happened, in whole sentences. `address`: the action that reverts it. `later`: the label of the button
    when the time is over.
    """

    text: str
    address: str
    later: str
    token: str


def offer_undo(request: HttpRequest, text: str, *, address: str, later: str, kept: str) -> None:
    """Show `text` with an "Undo" button on the next page. `kept`: what the action gets back from `undone`."""
    token = signing.dumps([address, kept], salt=SESSION_KEY)
    request.session[SESSION_KEY] = dataclasses.asdict(Offer(text, address, later, token))


def take_offer(request: HttpRequest) -> Offer | None:
    """Return the offer that no page has shown yet, once."""
    if SESSION_KEY not in request.session:
        return None
    return Offer(**request.session.pop(SESSION_KEY))


def undone(request: HttpRequest) -> str | None:
    """Return what `offer_undo` kept, if this POST is an undo of this very thing and in time; else None."""
    try:
        token = request.POST.get(FIELD, "")
        address, kept = signing.loads(token, salt=SESSION_KEY, max_age=OFFERED_FOR + GRACE)
    except signing.BadSignature:
        return None
    return str(kept) if address == request.path else None
