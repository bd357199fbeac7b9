"""A fault's organization: its key, forms and endpoints."""

from collections import defaultdict
from typing import Any


class Tenant:
    """`paths` are the endpoints at the receivers by form; `healthy` starts as all of them."""

    def __init__(self, prefix: str, made: dict[str, Any], receivers: str) -> None:
        self.prefix = prefix
        self.slug: str = made["slug"]
        self.key: str = made["key"]
        self.forms: list[str] = made["forms"]
        self.webhooks: dict[str, str] = {}  # path by id
        self.secrets: dict[str, str] = {}  # by path
        self.healthy: dict[str, set[str]] = defaultdict(set)  # paths by form
        for webhook in made["webhooks"]:
            path = webhook["url"].removeprefix(receivers)
            self.webhooks[webhook["id"]] = path
            self.secrets[path] = webhook["secret"]
            self.healthy[webhook["form"]].add(path)

    def exclude(self, *names: str) -> None:
        """Expect nothing of these endpoints: paths below the prefix, or URLs."""
        excluded = {name if ":" in name else self.prefix + name for name in names}
        for paths in self.healthy.values():
            paths -= excluded

    def webhook(self, name: str) -> str:
        """Return the id of the webhook at this path below the prefix."""
        return next(pk for pk, path in self.webhooks.items() if path == self.prefix + name)
