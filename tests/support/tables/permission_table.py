"""The whole API, a row for each method and path with the permission it needs (docs/contract.md 3.12)."""

import base64
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver
from rest_framework.views import APIView

from config.api.views import UnknownPath
from tests.support.posted_files import FILE_HEADERS, PDF, Part, body_of
from tests.support.replies import ALL_SIX

ADMIN = "admin"  # the flag, in the place of a permission's name
ANY_KEY = "any valid key"
ANY_SECRET = "any secret key"

# What the id in a path names, and whose permissions count for it.
RESOURCES = {
    "forms": "forms",
    "submissions": "submissions",
    "imports": "submissions",
    "webhooks": "webhooks",
    "destinations": "webhooks",
    "deliveries": "webhooks",
    "analytics": "analytics",
    "keys": ADMIN,
}
KEY = "contact"  # of the first form that `Tenant.form` makes
BULK = {"ids": ["{submissions}"], "action": "spam"}
EIGHT = (2**23, "The body is larger than 8 MiB. Send fewer rows at a time.")
ROWS = {"source": "elsewhere", "rows": [{"createdAt": "2026-01-31T09:30:00Z", "data": {"message": "Hello"}}]}
HOOK = {"formId": "{forms}", "url": "http://127.0.0.1:9/another", "events": ["submission.created"]}


DESTINATION = {
    "formId": "{forms}",
    "kind": "http",
    "name": "CRM",
    "config": {"url": "http://127.0.0.1:9/another", "template": {"id": "{{ submission.id }}"}},
}
MAILS = {"channel": "mail", "from": "2026-01-01", "to": "2026-01-02"}
# One pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclasses.dataclass(frozen=True)
class Endpoint:
    method: str
    path: str
    permission: str
    status: int = 200  # of a request that is allowed
    body: Mapping[str, Any] | None = None  # one that is right
    query: str = ""  # one that is needed
    too_large: tuple[int, str] = (2**19, "The body is larger than 256 KiB. Send less.")  # bytes, and what it says
    takes_a_file: bool = False  # then the body is multipart, with a file besides; without `body` it is a picture

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def segment(self) -> str:
        words = self.path.partition("?")[0].split("/")
        return "imports" if "imports" in words else words[2]

    @property
    def names_an_object(self) -> bool:
        return "{id}" in self.path

    def address(self, ids: Mapping[str, str]) -> str:
        own = ids.get(self.segment, "")
        return (self.path + self.query).replace("{id}", own).replace("{forms}", ids["forms"]).replace("{key}", KEY)

    def options(self, ids: Mapping[str, str]) -> dict[str, Any]:
        """Return the options of the test client's request."""
        if self.takes_a_file and self.body:
            texts: list[Part] = [(name, None, text.encode()) for name, text in fill(self.body, ids).items()]
            return {"data": body_of([*texts, ("file", "plan.pdf", PDF)]), "headers": FILE_HEADERS}
        if self.takes_a_file:
            return {"data": PNG, "headers": {"Content-Type": "image/png"}}
        return {} if self.body is None else {"json": fill(self.body, ids)}

    @property
    def of_the_resource(self) -> list[str]:
        """Return the other permissions of the same resource: not enough, but the key may use the resource."""
        resource = RESOURCES.get(self.segment)
        return [one for one in ALL_SIX if one.startswith(f"{resource}:") and one != self.permission]

    @property
    def of_others(self) -> list[str]:
        return [one for one in ALL_SIX if one not in self.of_the_resource and one != self.permission]


TABLE = [
    Endpoint("GET", "/api/forms", "forms:read"),
    Endpoint("GET", "/api/forms/{id}", "forms:read"),
    Endpoint("POST", "/api/forms", "forms:write", 201, {"name": "Made"}),
    Endpoint("PATCH", "/api/forms/{id}", "forms:write", 200, {"name": "Renamed"}),
    Endpoint("DELETE", "/api/forms/{id}", "forms:write"),
    Endpoint("GET", "/api/forms/by-key/{key}", "forms:read"),
    Endpoint("PUT", "/api/forms/by-key/{key}", "forms:write", 200, {"name": "Renamed"}),
    Endpoint("POST", "/api/forms/{id}/publish", "forms:write"),
    Endpoint("POST", "/api/forms/{id}/unpublish", "forms:write"),
    Endpoint("PUT", "/api/forms/{id}/logo", "forms:write", takes_a_file=True),
    Endpoint("DELETE", "/api/forms/{id}/logo", "forms:write"),
    Endpoint("GET", "/api/submissions", "submissions:read"),
    Endpoint("GET", "/api/submissions/{id}", "submissions:read"),
    Endpoint("PATCH", "/api/submissions/{id}", "forms:write", 200, {"spam": True}),
    Endpoint("DELETE", "/api/submissions/{id}", "forms:write"),
    Endpoint("GET", "/api/submissions/{id}/deliveries", "webhooks:write"),
    Endpoint("GET", "/api/submissions/export", "submissions:export"),
    Endpoint("POST", "/api/submissions/bulk", "forms:write", 200, BULK),
    Endpoint("POST", "/api/submissions/import", "forms:write", 200, ROWS, query="?formId={forms}", too_large=EIGHT),
    Endpoint("DELETE", "/api/submissions/imports/{id}", "forms:write"),
    Endpoint("POST", "/api/submit", ANY_KEY, 201, {"message": "Hello"}),
    Endpoint("POST", "/api/uploads", ANY_SECRET, 201, {"formId": "{uploads}", "field": "cv"}, takes_a_file=True),
    Endpoint("GET", "/api/webhooks", "webhooks:write"),
    Endpoint("POST", "/api/webhooks", "webhooks:write", 201, HOOK),
    Endpoint("GET", "/api/webhooks/{id}", "webhooks:write"),
    Endpoint("PATCH", "/api/webhooks/{id}", "webhooks:write", 200, {"events": ["submission.created"]}),
    Endpoint("DELETE", "/api/webhooks/{id}", "webhooks:write"),
    Endpoint("POST", "/api/webhooks/{id}/test", "webhooks:write", 200),
    Endpoint("POST", "/api/webhooks/{id}/rotate-secret", "webhooks:write"),
    Endpoint("POST", "/api/webhooks/{id}/replay", "webhooks:write"),
    Endpoint("GET", "/api/webhooks/{id}/deliveries", "webhooks:write"),
    Endpoint("GET", "/api/destinations", "webhooks:write"),
    Endpoint("POST", "/api/destinations", "webhooks:write", 201, DESTINATION),
    Endpoint("GET", "/api/destinations/{id}", "webhooks:write"),
    Endpoint("PATCH", "/api/destinations/{id}", "webhooks:write", 200, {"name": "Renamed"}),
    Endpoint("DELETE", "/api/destinations/{id}", "webhooks:write"),
    Endpoint("POST", "/api/destinations/{id}/test", "webhooks:write", 200),
    Endpoint("POST", "/api/destinations/{id}/replay", "webhooks:write"),
    Endpoint("GET", "/api/destinations/{id}/deliveries", "webhooks:write"),
    Endpoint("GET", "/api/deliveries/{id}", "webhooks:write"),
    Endpoint("POST", "/api/deliveries/{id}/retry", "webhooks:write"),
    Endpoint("POST", "/api/deliveries/replay", "webhooks:write", 200, MAILS),
    Endpoint("GET", "/api/analytics", "analytics:read"),
    Endpoint("GET", "/api/me", ANY_SECRET),
    Endpoint("GET", "/api/keys", ADMIN),
    Endpoint("POST", "/api/keys", ADMIN, 201, {"name": "Made", "permissions": []}),
    Endpoint("GET", "/api/keys/{id}", ADMIN),
    Endpoint("DELETE", "/api/keys/{id}", ADMIN),
    Endpoint("POST", "/api/keys/{id}/regenerate", ADMIN),
]

OPEN = [("GET", "/api/schema"), ("GET", "/api/docs")]  # no key needed

# Ids besides the one in the path: query parameters and fields of bodies.
REFERENCES = [
    Endpoint("GET", "/api/submissions?formId={forms}", "submissions:read"),
    Endpoint("GET", "/api/submissions/export?formId={forms}", "submissions:export"),
    Endpoint("GET", "/api/analytics?formId={forms}", "analytics:read"),
    Endpoint("GET", "/api/webhooks?formId={forms}", "webhooks:write"),
    Endpoint("POST", "/api/webhooks", "webhooks:write", 201, HOOK),
    Endpoint("GET", "/api/destinations?formId={forms}", "webhooks:write"),
    Endpoint("POST", "/api/destinations", "webhooks:write", 201, DESTINATION),
    Endpoint("POST", "/api/submissions/bulk", "forms:write", 200, BULK),
    Endpoint("POST", "/api/submissions/import?formId={forms}", "forms:write", 200, ROWS),
    Endpoint("POST", "/api/submit?formId={forms}", ANY_KEY, 201, {"message": "Hello"}),
    Endpoint("POST", "/api/submit", ANY_KEY, 201, {"_formId": "{forms}", "message": "Hello"}),
]


def fill(value: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    return {name: filled(one, ids) for name, one in value.items()}


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [filled(one, ids) for one in value]
    return ids.get(value[1:-1], value) if isinstance(value, str) else value


def routed(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[tuple[str, str]]:
    """Yield method and path of everything under /api/ that the URL configuration routes, HEAD and OPTIONS apart."""
    for pattern in patterns:
        path = prefix + str(pattern.pattern).replace("<str:id>", "{id}").replace("<str:key>", "{key}")
        if isinstance(pattern, URLResolver):
            yield from routed(pattern.url_patterns, path)
        elif path.startswith("/api/") and view_class(pattern) is not UnknownPath:
            for method in methods(pattern) - {"HEAD", "OPTIONS"}:
                yield method, path


def view_class(pattern: URLPattern) -> type[APIView] | None:
    return getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)


def methods(pattern: URLPattern) -> set[str]:
    """A viewset routes the methods of `as_view({...})`; any other class those that it defines; a function, unknown."""
    view = view_class(pattern)
    actions = getattr(pattern.callback, "actions", None)
    if view is None:
        return {"ANY"}
    return {name.upper() for name in actions or [one for one in view.http_method_names if hasattr(view, one)]}
