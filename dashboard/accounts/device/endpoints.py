"""The requests of a program that logs in: `POST /account/device/code` and `…/token` (docs/contract.md 3.16)."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

from config.api.errors import RateLimited
from config.api.ratelimit import count_burst, is_burst_used_up, refuse_bursts
from config.base.client_address import client_address, client_network
from keys.devices.logins import INTERVAL, LASTS, Granted, Refusal, begin_login, machine_name, redeem
from keys.models import AccessKey
from keys.serializers import AccessKeyRecord, OwnOrganizationRecord

CLIENT = "fieldpost-cli"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
FORM = "application/x-www-form-urlencoded"
LOGINS = "100/h"  # begun by an address
WRONG, WRONG_CODES = "device-codes", "300/h"  # of an address: both of programs and of people
Values = dict[str, str]


class Refused(Exception):
    """An answer of RFC 6749, 5.2: its `error`, and a sentence for people."""

    def __init__(self, error: str, description: str) -> None:
        self.error, self.description = error, description


def for_programs(*names: str) -> Callable[[Callable[[HttpRequest, Values], HttpResponse]], Callable[..., HttpResponse]]:
    """Decorate a view that takes a form with these members, each once, from our program."""

    def decorate(view: Callable[[HttpRequest, Values], HttpResponse]) -> Callable[..., HttpResponse]:
        @csrf_exempt  # a program has no session, and the view asks for none
        @never_cache
        @require_POST
        @wraps(view)
        def answering(request: HttpRequest) -> HttpResponse:
            try:
                return view(request, _read(request, *names))
            except Refused as refused:
                body = {"error": refused.error, "error_description": refused.description}
                return JsonResponse(body, status=400)
            except RateLimited as refusal:
                body = {"error": "rate_limited", "error_description": refusal.message}
                return JsonResponse(body, status=refusal.status, headers=refusal.headers)

        return answering

    return decorate


def _read(request: HttpRequest, *names: str) -> Values:
    if request.content_type != FORM:
        raise Refused("invalid_request", f"Send a form: Content-Type: {FORM}.")
    given = {name: request.POST.getlist(name) for name in ("client_id", *names)}
    for name, values in given.items():
        if len(values) != 1 or not values[0]:
            raise Refused("invalid_request", f"{name} must be given, and once.")
    if given["client_id"] != [CLIENT]:
        raise Refused("invalid_client", f"The only client_id is {CLIENT}.")
    return {name: values[0] for name, values in given.items()}


@for_programs("machine")
@sensitive_variables()
def code(request: HttpRequest, values: Values) -> HttpResponse:
    """Begin a login, and answer its codes."""
    try:
        machine = machine_name(values["machine"])
    except ValueError:
        raise Refused("invalid_request", "machine must be 1 to 100 characters of one line.") from None
    if refusal := refuse_bursts(request, [("device-logins", client_network(request), LOGINS)]):
        raise refusal
    device_code, user_code = begin_login(machine, address=client_address(request)[:45])
    page = f"{settings.PUBLIC_URL}{reverse('device-login')}"
    return JsonResponse(
        {
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={user_code}",
            "expires_in": int(LASTS.total_seconds()),
            "interval": INTERVAL,
        }
    )


@for_programs("grant_type", "device_code")
@sensitive_variables()
def token(request: HttpRequest, values: Values) -> HttpResponse:
    """Answer the keys of a login that was authorized, once."""
    if values["grant_type"] != GRANT:
        raise Refused("unsupported_grant_type", f"The only grant_type is {GRANT}.")
    if refusal := refuse_guesses(request):
        raise refusal
    found = redeem(values["device_code"])
    if found is Refusal.UNKNOWN:
        count_guess(request)
    if not isinstance(found, Granted):
        raise Refused(found, DESCRIPTIONS[found])
    return JsonResponse(
        {
            "organization": OwnOrganizationRecord(found.organization).data,
            "eventsUrl": settings.EVENTS_URL,
            "live": _issued(*found.live),
            "test": _issued(*found.test),
        }
    )


def _issued(key: AccessKey, secret: str) -> dict[str, object]:
    return {**AccessKeyRecord(key).data, "key": secret}


DESCRIPTIONS = {
    Refusal.PENDING: "Nobody has entered the code yet.",
    Refusal.TOO_SOON: f"Ask every {INTERVAL} seconds.",
    Refusal.DENIED: "The login was denied.",
    Refusal.EXPIRED: "The code has expired. Ask for a new one.",
    Refusal.UNKNOWN: "The code is unknown, or was used.",
}


def refuse_guesses(request: HttpRequest) -> RateLimited | None:
    """Return the 429 for an address that has sent too many wrong codes."""
    network = client_network(request)
    if not is_burst_used_up(request, WRONG, network, WRONG_CODES):
        return None
    return count_burst(request, WRONG, network, WRONG_CODES).refusal()


def count_guess(request: HttpRequest) -> None:
    count_burst(request, WRONG, client_network(request), WRONG_CODES)
