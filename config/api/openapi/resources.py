"""
Names in the OpenAPI document: of operations (`listForms`), of their tags, and their summaries ("List forms").

Generated clients call their methods, modules and types by these names, so they are part of the interface.
"""

import re
from dataclasses import dataclass

WORD = re.compile(r"[A-Z]?[a-z]+")
# Actions of a viewset, and methods of a plain view, as people say them. Other actions are verbs already.
VERBS = {"retrieve": "get", "read": "get", "partial_update": "update", "destroy": "delete", "post": "create"}


@dataclass(frozen=True)
class Tag:
    """A group of operations: a class or module of generated clients."""

    name: str
    description: str


@dataclass(frozen=True)
class Resource:
    """The objects under the first segment of a path, in an operation's name and in a sentence."""

    tag: Tag
    one: str
    many: str


FORMS = Tag("Forms", "Create, change, publish and archive forms.")
SUBMISSIONS = Tag("Submissions", "Submit a form; read, export, mark and delete submissions.")
WEBHOOKS = Tag("Webhooks", "Register the endpoints that receive new submissions, and test them.")
DESTINATIONS = Tag("Destinations", "Send new submissions to chats, sheets and other services.")
DELIVERIES = Tag("Deliveries", "The log of a webhook: each message with its attempts. Send messages again.")
KEYS = Tag("Access keys", "List, create, regenerate and revoke keys. Needs an administrative key.")
ACCOUNT = Tag("Account", "The organization and the key of the caller, and the rest of the hour.")
ANALYTICS = Tag("Analytics", "Counts of submissions and deliveries by day or hour.")
# Not "Webhooks": openapi-generator would overwrite the class of those operations.
EVENTS = Tag("Events", "The messages that your endpoints receive.")
TAGS = (FORMS, SUBMISSIONS, WEBHOOKS, DESTINATIONS, DELIVERIES, KEYS, ACCOUNT, ANALYTICS, EVENTS)

# First segment of the path below /api/ -> its resource. A new segment needs a row.
RESOURCES = {
    "forms": Resource(FORMS, "form", "forms"),
    "submit": Resource(SUBMISSIONS, "submission", "submissions"),
    "uploads": Resource(SUBMISSIONS, "upload", "uploads"),
    "submissions": Resource(SUBMISSIONS, "submission", "submissions"),
    "webhooks": Resource(WEBHOOKS, "webhook", "webhooks"),
    "destinations": Resource(DESTINATIONS, "destination", "destinations"),
    "deliveries": Resource(DELIVERIES, "delivery", "deliveries"),
    "keys": Resource(KEYS, "key", "keys"),
    "me": Resource(ACCOUNT, "me", "me"),
    "analytics": Resource(ANALYTICS, "analytics", "analytics"),
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
