"""Logins by a code that a person confirms in the browser (RFC 8628)."""

import platform
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fieldpost import errors
from fieldpost.cli.output import CommandError
from fieldpost.errors import APIError
from fieldpost.transport import Transport

CLIENT = "fieldpost-cli"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER = 5  # seconds more between two questions after `slow_down`, RFC 8628 3.5
MACHINE = 100  # characters


def machine_name() -> str:
    """Return what people read where they confirm, and what the keys are called."""
    return (platform.node() or "fieldpost")[:MACHINE]


def begin(transport: Transport) -> dict[str, Any]:
    """Ask for a code."""
    return _post(transport, "/account/device/code", {"client_id": CLIENT, "machine": machine_name()})


def wait(transport: Transport, begun: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys when somebody has confirmed. Raises APIError `access_denied` or `expired_token`."""
    values = {"client_id": CLIENT, "grant_type": GRANT, "device_code": str(begun["device_code"])}
    pause = float(begun.get("interval", SLOWER))
    end = time.monotonic() + float(begun["expires_in"])
    while time.monotonic() < end:
        time.sleep(pause)
        try:
            return _post(transport, "/account/device/token", values)
        except errors.ConnectionError:
            continue  # it may come back before the code expires
        except APIError as error:
            if error.code == "slow_down":
                pause += SLOWER
            elif error.code != "authorization_pending":
                raise
    raise CommandError("expired_token", "Nobody has confirmed the code in time. Log in again.")


def _post(transport: Transport, path: str, values: Mapping[str, str]) -> dict[str, Any]:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = transport.request("POST", path, body=urlencode(values).encode(), headers=headers)
    found = answer.object()
    if not {"device_code", "live"} & found.keys():
        raise CommandError("not_fieldpost", f"{transport.url} answered, and not as Fieldpost does.")
    return found
