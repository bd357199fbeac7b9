"""A certified OpenID provider, in Node, with pages on which a person logs in."""

import json
from pathlib import Path
from typing import Any

import urllib3
from joserfc.jwk import RSAKey

from tests.services.application import answers
from tests.services.processes import Process, free_port
from tests.services.server import Server
from tests.services.waiting import eventually
from tests.support.chromium.coverage import TOOLS

CLIENT, SECRET = "fieldpost", "a secret of tests"
Claims = dict[str, Any]


def new_key(kid: str) -> Claims:
    """Return a private key as the provider takes it."""
    key = RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"}, private=True)
    return dict(key.as_dict(private=True))


def public(key: Claims) -> Claims:
    return {name: key[name] for name in ("kty", "n", "e", "kid", "use", "alg")}


class CertifiedProvider(Server):
    """`issuer` is its name. `accounts`: the claims of each login; every password is right."""

    def __init__(self) -> None:
        super().__init__("openid")
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self.accounts: dict[str, Claims] = {}
        self.keys = [new_key("first")]
        self.published: list[Claims] | None = None  # other keys than those that sign
        self.redirect_uri = ""

    def settings(self, **more: str) -> dict[str, str]:
        """Return the settings of a service that logs in here."""
        ours = {"OIDC_ISSUER": self.issuer, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET}
        return ours | {f"OIDC_{name}": value for name, value in more.items()}

    def start(self) -> None:
        """Start it, or start it again with other accounts, keys or another address to come back to."""
        told = {"port": self.port, "client": CLIENT, "secret": SECRET, "redirectUri": self.redirect_uri}
        told |= {"accounts": self.accounts, "keys": self.keys, "published": self.published}
        file = self.directory / "told.json"
        file.write_text(json.dumps(told))
        command = ["sh", "-c", 'exec node "$0" < "$1"', str(Path(__file__).with_name("certified.mjs")), str(file)]
        self.process = Process("openid", command, log=self.directory / "log", cwd=TOOLS)
        eventually(lambda: answers(self.port, "/.well-known/openid-configuration"), because="the provider answers")

    def restart(self) -> None:
        self.stop()
        self.start()

    def tamper(self, how: str) -> None:
        """Make the answers that follow wrong in this way, "" for none; `certified.mjs` has the names."""
        assert urllib3.request("POST", f"{self.issuer}/tamper", body=how.encode()).status == 200
