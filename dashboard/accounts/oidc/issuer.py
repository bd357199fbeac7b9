"""
The issuer's own document and its keys, and the calls to it (OpenID Connect Discovery 1.0).

Calls go to OIDC_ISSUER and what its document names, and nowhere else. Two requests of ours ask at the same time, each
for 10 seconds in all, so that an issuer that hangs leaves threads for everybody else.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings

from config.oidc_checks import may_be_called
from webhooks.transport.chosen_host import CallFailed, call
from webhooks.transport.deadline import Deadline

AT_ONCE = 2  # requests of ours that call the issuer, in a process
WAITS = 1.0  # seconds for a place
SECONDS = 10.0  # for all calls of a request
KEPT_SECONDS = 600.0  # for which the document and the keys are not fetched again

_places = threading.BoundedSemaphore(AT_ONCE)
_kept: dict[str, tuple[float, dict[str, Any]]] = {}  # by URL: when it was fetched, and what it is


class IssuerDown(Exception):
    """The issuer does not answer, or not as it should. The text is for the log."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of the issuer's document; `userinfo` is "" if there is none."""

    authorization: str
    token: str
    keys: str
    userinfo: str
    takes_secret_in_body: bool


@contextmanager
def asking() -> Iterator[Deadline]:
    """Hold one of the places for calls, and yield the end of all of them. Raises IssuerDown if none is free."""
    if not _places.acquire(timeout=WAITS):
        raise IssuerDown("other requests wait for the issuer already")
    try:
        with closing(Deadline(SECONDS)) as deadline:
            yield deadline
    finally:
        _places.release()


def ask(
    url: str, deadline: Deadline, *, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Return status and JSON object of an answer, 200 or 4xx; `form` is posted. Raises IssuerDown for others."""
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "Fieldpost", **(headers or {})}
    if form is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    method, body = ("GET", b"") if form is None else ("POST", urlencode(form).encode())
    try:
        status, text = call(url, deadline, method=method, body=body, headers=sent)
        found = json.loads(text) if status == 200 else {}
    except CallFailed as error:
        raise IssuerDown(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise IssuerDown(f"{url} is no JSON") from error
    if not (status == 200 or 400 <= status < 500) or not isinstance(found, dict):
        raise IssuerDown(f"{url} answered {status}, or no object")
    return status, found


def find_endpoints(deadline: Deadline) -> Endpoints:
    """Return the addresses of the issuer's document. Raises IssuerDown, also for a document of another issuer."""
    url = f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration"
    found = _fetch(url, deadline)
    if found.get("issuer") != settings.OIDC_ISSUER:
        raise IssuerDown(f"{url} is of the issuer {found.get('issuer')!r}, not of OIDC_ISSUER")
    methods = found.get("token_endpoint_auth_methods_supported")
    return Endpoints(
        authorization=_address(found, "authorization_endpoint"),
        token=_address(found, "token_endpoint"),
        keys=_address(found, "jwks_uri"),
        userinfo=_address(found, "userinfo_endpoint") if found.get("userinfo_endpoint") else "",
        takes_secret_in_body=isinstance(methods, list) and "client_secret_basic" not in methods,
    )


def fetch_keys(endpoints: Endpoints, deadline: Deadline, *, again: bool = False) -> dict[str, Any]:
    """Return the issuer's keys as JSON; `again`: not those of up to 10 minutes ago. Raises IssuerDown."""
    return _fetch(endpoints.keys, deadline, again=again)


def _fetch(url: str, deadline: Deadline, *, again: bool = False) -> dict[str, Any]:
    fetched_at, found = _kept.get(url, (0.0, {}))
    if again or not found or time.monotonic() - fetched_at > KEPT_SECONDS:
        status, found = ask(url, deadline)
        if status != 200:
            raise IssuerDown(f"{url} answered {status}")
        _kept[url] = time.monotonic(), found
    return found


def _address(found: Mapping[str, Any], name: str) -> str:
    """Return an address of the document; over http it may only be one of this machine, as the issuer is then."""
    url = found.get(name)
    is_plain = settings.OIDC_ISSUER.startswith("http:")
    if not isinstance(url, str) or not may_be_called(url) or (url.startswith("http:") and not is_plain):
        raise IssuerDown(f"the issuer's document has no usable {name}")
    return url
