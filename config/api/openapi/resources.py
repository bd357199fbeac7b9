"""
Names in the OpenAPI document: of operations (`listForms`), of their tags, and their summaries ("List forms").

Generated clients call their methods, modules and types by these names, so they are part of the interface.
"""

import re
from typing import NamedTuple

WORD = re.compile(r"[A-Z]?[a-z]+")
# Actions of a viewset, and methods of a plain view, as people say them. Other actions are verbs already.
VERBS = {"retrieve": "get", "read": "get", "partial_update": "update", "destroy": "delete", "post": "create"}


class Resource(NamedTuple):
    """The objects under the first segment of a path, in an operation's name and in a sentence."""

    tag: str
    one: str
    many: str


# Tags are groups of operations: classes or modules of generated clients.
TAGS = {
    "Forms": "Create, change, publish and archive forms.",
    "Submissions": "Submit a form; read, export, mark and delete submissions.",
    "Webhooks": "Register the endpoints that receive new submissions, and test them.",
    "Destinations": "Send new submissions to chats, sheets and other services.",
    "Deliveries": "The log of a webhook: each message with its attempts. Send messages again.",
    "Access keys": "List, create, regenerate and revoke keys. Needs an administrative key.",
    "Account": "The organization and the key of the caller, and the rest of the hour.",
    "Analytics": "Counts of submissions and deliveries by day or hour.",
    # Not "Webhooks": openapi-generator would overwrite the class of those operations.
    "Events": "The messages that your endpoints receive.",
}
# First segment of the path below /api/ -> its resource. A new segment needs a row.
RESOURCES = {
    "forms": Resource("Forms", "form", "forms"),
    "submit": Resource("Submissions", "submission", "submissions"),
    "uploads": Resource("Submissions", "upload", "uploads"),
    "submissions": Resource("Submissions", "submission", "submissions"),
    "webhooks": Resource("Webhooks", "webhook", "webhooks"),
    "destinations": Resource("Destinations", "destination", "destinations"),
    "deliveries": Resource("Deliveries", "delivery", "deliveries"),
    "keys": Resource("Access keys", "key", "keys"),
    "me": Resource("Account", "me", "me"),
    "analytics": Resource("Analytics", "analytics", "analytics"),
}
UNCOUNTED = {"analytics"}


def resource_of(path: str) -> Resource:
    """Return the resource of a path such as `/api/forms/{id}`."""
    return RESOURCES[path.split("/")[2]]


def operation_id(path: str, action: str, *, is_list: bool) -> str:
    """Return a name such as `listForms`, `getForm` or `publishForm`."""
    resource = resource_of(path)
    words = ["list", *resource.many.split()] if is_list else [*VERBS.get(action, action).split("_"), resource.one]
    return words[0] + "".join(word.capitalize() for word in words[1:])


def summary_of(operation: str) -> str:
    """Return an operation's name as a sentence: `createForm` is "Create a form"."""
    verb, *words = WORD.findall(operation)
    thing = " ".join(words).lower()
    counted = thing and words[-1].lower() not in UNCOUNTED | {resource.many for resource in RESOURCES.values()}
    return " ".join([verb.capitalize(), *([f"{_article(thing)} {thing}"] if counted else [thing])])


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def inherited_description(path: str, action: str) -> str | None:
    """Return the text for the actions that a resource has from a base viewset; None for any other."""
    resource = resource_of(path)
    return {
        "list": f"Return a page of the organization's {resource.many}, newest first.",
        "retrieve": f"Return {_article(resource.one)} {resource.one}.",
        "destroy": f"Delete {_article(resource.one)} {resource.one} with its log.",
        "test": "Send a test event.",
        "replay": "Send a range of deliveries again, or only count them (`dryRun`).",
    }.get(action)
