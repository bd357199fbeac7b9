"""
An OpenID provider on loopback that signs and answers whatever a test wants; without wishes it keeps to the rules.

It shows no page: `log_in` plays the browser that comes back from it.
"""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey

from tests.services.receivers import Received, Receiver, Reply

CLIENT, SECRET = "fieldpost", "a secret: with + and %"
ABSENT: Any = object()  # a claim that is left out


def new_key(kid: str) -> Key:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}, private=True)


@dataclass
class Wishes:
    """
    The differences of the next logins. `claims` and `userinfo` replace claims of the ID token and of the userinfo.

    `replies`: other answers, by path. `endpoints` replace members of the discovery document. `token`: another whole
    ID token. `key` signs, by default the issuer's; `header` replaces members of the token's header.
    """

    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    replies: dict[str, Reply] = field(default_factory=dict)
    endpoints: dict[str, Any] = field(default_factory=dict)
    token: str | None = None
    key: Key | None = None
    header: dict[str, Any] = field(default_factory=dict)


class Issuer(Receiver):
    """`name` is the issuer, as its tokens spell it."""

    def __init__(self) -> None:
        super().__init__()
        self.key = new_key("first")
        self.published = [self.key]
        self.wishes = Wishes()
        self._codes: dict[str, dict[str, str]] = {}  # of logins: what the browser brought

    def __enter__(self) -> Self:
        super().__enter__()
        self.name = self.url("/realm")
        return self

    def settings(self, **more: str) -> dict[str, str]:
        """Return the settings of a service that logs in here."""
        ours = {"OIDC_ISSUER": self.name, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}
        return ours | {f"OIDC_{name}": value for name, value in more.items()}

    def log_in(self, started: str, **values: str) -> str:
        """Return where a browser goes that was led here; `values` replace parameters of it."""
        asked = dict(parse_qsl(urlsplit(started).query))
        code = secrets.token_urlsafe(12)
        self._codes[code] = asked
        back = urlsplit(asked["redirect_uri"]).path
        return f"{back}?{urlencode({'code': code, 'state': asked['state'], **values})}"

    def asked(self, path: str) -> list[Received]:
        return [each for each in self.requests if each.path == path]

    def sign(self, claims: dict[str, Any]) -> str:
        """Return an ID token as wished."""
        key = self.wishes.key or self.key
        header = {"alg": "ES256" if isinstance(key, ECKey) else "RS256", "kid": key.kid, **self.wishes.header}
        header = {name: value for name, value in header.items() if value is not ABSENT}
        return jwt.encode(header, claims, key, algorithms=[header["alg"]])

    def _take(self, request: Received) -> Reply:
        self.requests.append(request)
        path = urlsplit(request.path).path
        if path in self.wishes.replies:
            return self.wishes.replies[path]
        if path == "/realm/.well-known/openid-configuration":
            return _json(self._document())
        if path == "/keys":
            return _json({"keys": [key.as_dict(private=False) for key in self.published]})
        if path == "/token":
            return self._tokens(request)
        if path == "/userinfo":
            return self._userinfo(request)
        return Reply(404)

    def _document(self) -> dict[str, Any]:
        document = {
            "issuer": self.name,
            "authorization_endpoint": self.url("/authorize?tenant=acme"),
            "token_endpoint": self.url("/token"),
            "jwks_uri": self.url("/keys"),
            "userinfo_endpoint": self.url("/userinfo"),
        }
        return _without_absent(document | self.wishes.endpoints)

    def _tokens(self, request: Received) -> Reply:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return _json({"error": "invalid_grant"}, 400)
        moment = int(time.time())
        claims = {
            "iss": self.name,
            "aud": CLIENT,
            "sub": "somebody",
            "nonce": asked["nonce"],
            "iat": moment,
            "exp": moment + 300,
            "auth_time": moment,
        }
        claims = _without_absent(claims | self.wishes.claims)
        access = base64.urlsafe_b64encode(json.dumps({"sub": claims.get("sub")}).encode()).decode()
        return _json(
            {"id_token": self.wishes.token or self.sign(claims), "access_token": access, "token_type": "Bearer"}
        )

    def _userinfo(self, request: Received) -> Reply:
        access = request.headers["authorization"].removeprefix("Bearer ")
        return _json(_without_absent(json.loads(base64.urlsafe_b64decode(access)) | self.wishes.userinfo))


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, {"Content-Type": "application/json"}, json.dumps(value).encode())


def _without_absent(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not ABSENT}
