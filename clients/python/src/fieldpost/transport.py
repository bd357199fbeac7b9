"""Requests to one service: the key, retries, proxies, and answers that are no success as errors."""

import json
import os
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import HTTPError, LocationParseError, NameResolutionError, NewConnectionError, ProtocolError

from fieldpost import errors
from fieldpost.errors import APIError, Error

RETRIES = 2
RETRIED = frozenset({429, 502, 503, 504})
OUTAGES = RETRIED - {429}
LONGEST_WAIT = 60.0  # seconds: a longer Retry-After is an error immediately
CONNECT_SECONDS, READ_SECONDS = 10.0, 60.0
CHUNK = 65_536  # bytes of an answer that is read as it comes
USER_AGENT = "fieldpost-python"


@dataclass(frozen=True)
class Answer:
    """An answer with a status below 300."""

    status: int
    headers: Mapping[str, str]  # found in any case
    body: bytes

    def json(self) -> Any:
        """Return an envelope. Raises APIError where the body is none: another server answered."""
        found = self.object()
        if "data" not in found:
            raise self._other()
        return found

    def object(self) -> dict[str, Any]:
        """Return the JSON object of the body, with or without an envelope."""
        try:
            found = json.loads(self.body)
        except ValueError:
            raise self._other() from None
        if not isinstance(found, dict):
            raise self._other()
        return found

    def _other(self) -> APIError:
        return APIError(self.status, "not_fieldpost", "The answer is not one of Fieldpost.")

    @property
    def data(self) -> Any:
        """Return the member `data` of the envelope."""
        return self.json()["data"]


class Transport:
    """Requests with a key to the service at `url`."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = base_url(url)
        self.key = key
        self.pause = 0.5  # seconds before the first retry where the service names none, then twice as many
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise Error("The key holds characters that no key has.")
        self._pool = pool_for(self.url)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json_body: Any = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Answer:
        """Send a request; `json_body` with its media type, or `body` with that of `headers`."""
        sent = dict(headers or {})
        if json_body is not None:
            body, sent["Content-Type"] = json.dumps(json_body).encode(), "application/json"
        if method == "POST":
            sent["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        with self._answered(method, path, query, body, sent) as answer:
            try:
                content = answer.read(decode_content=True)
            except HTTPError as error:
                raise errors.ConnectionError(f"{self.url} cut the connection: {error}") from None
        return Answer(answer.status, answer.headers, content)

    @contextmanager
    def stream(
        self, path: str, query: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[Iterator[bytes]]:
        """Yield the parts of an answer to GET as they come."""
        with self._answered("GET", path, query, None, headers or {}) as answer:
            yield self._parts(answer)

    def _parts(self, answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        try:
            while part := answer.read1(CHUNK, decode_content=True):  # what is there, without waiting for more
                yield part
        except HTTPError as error:
            raise errors.ConnectionError(f"{self.url} cut the connection: {error}") from None

    @contextmanager
    def _answered(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        sent = {"User-Agent": USER_AGENT, **headers, **({"x-access-key": self.key} if self.key else {})}
        address = self.url + path + (f"?{urlencode(query)}" if query else "")
        answer = self._send(method, address, body, sent)
        try:
            if answer.status >= 300:
                raise self._error(answer)
            yield answer
        finally:
            answer.close()

    def _send(
        self, method: str, address: str, body: bytes | None, headers: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        """Return the first answer that is not to be retried, or the last."""
        # A PUT with a precondition would refuse its own repetition, so only what was not done is sent again.
        may_repeat = method in ("GET", "HEAD", "DELETE") or "Idempotency-Key" in headers
        for retry in range(RETRIES + 1):
            wait = self.pause * 2**retry
            try:
                answer = self._pool.urlopen(
                    method, address, body=body, headers=headers, redirect=False, preload_content=False
                )
            except HTTPError as error:
                if retry == RETRIES or not may_repeat or not _is_cut(error):
                    raise errors.ConnectionError(reason(self.url, error)) from None
            else:
                waits = _retry_after(answer.headers.get("Retry-After"))
                if answer.status not in RETRIED or retry == RETRIES or (waits or 0) > LONGEST_WAIT:
                    return answer
                if answer.status != 429 and not may_repeat:
                    return answer
                answer.close()
                wait = wait if waits is None else waits
            time.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def _error(self, answer: urllib3.BaseHTTPResponse) -> Error:
        if answer.status < 400:
            return APIError(
                answer.status,
                "not_fieldpost",
                f"{self.url} leads to {answer.headers.get('Location')}: use that address.",
            )
        try:
            found = json.loads(answer.read(decode_content=True))
            code = str(found["error"])
            message = found.get("message") or found["error_description"]  # RFC 6749 has the second
            return APIError(answer.status, code, str(message), found.get("details", ()))
        except HTTPError as error:
            return errors.ConnectionError(f"{self.url} cut the connection: {error}")
        except (ValueError, KeyError, TypeError):
            if answer.status in OUTAGES:
                return errors.ConnectionError(f"{self.url} is not available: it answered {answer.status}.")
            return APIError(
                answer.status, "not_fieldpost", f"{self.url} answered {answer.status}, and not as Fieldpost does."
            )


def base_url(url: str) -> str:
    """Return the address of a service without a slash at its end. Raises Error for what is none."""
    url = url.rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise Error(f"{url!r} is not the address of a service, such as https://forms.example.com.")
    return url


def pool_for(url: str) -> urllib3.PoolManager:
    """Return connections to this address, through the proxy that the environment names for it."""
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    parts = urlsplit(url)
    proxy = urllib.request.getproxies_environment().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.netloc):
        return urllib3.ProxyManager(proxy, retries=False, timeout=timeout)
    return urllib3.PoolManager(retries=False, timeout=timeout)


def _is_cut(error: HTTPError) -> bool:
    is_refused = isinstance(error, NewConnectionError) and not isinstance(error, NameResolutionError)
    return is_refused or isinstance(error, ProtocolError)


def reason(url: str, error: Exception) -> str:
    """Return why an address could not be reached, and what to do."""
    if isinstance(error, urllib3.exceptions.SSLError):
        return (
            f"The certificate of {url} is not trusted: {error}. If it is your own, name the file of your authority "
            "in SSL_CERT_FILE, and check the clock of this machine."
        )
    if isinstance(error, LocationParseError):
        return f"{url} is not an address."
    return f"{url} cannot be reached: {str(error).rpartition('>: ')[2]}"  # without the address of an object


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After`, a number or a date; None where there is none that can be read."""
    if not value:
        return None
    try:
        return max(0.0, float(value) if value.isdigit() else parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def environment(name: str) -> str | None:
    """Return a variable of the environment; an empty one is not set."""
    return os.environ.get(name) or None
