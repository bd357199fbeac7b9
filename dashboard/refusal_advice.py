"""What to do about a refused submission, in words for who owns the form. Pure: a stored refusal in, sentences out."""

import dataclasses
from collections.abc import Callable

from django.conf import settings
from django.db import models

from config.api.ratelimit import ANONYMOUS_LIMIT
from forms_app.field_definitions import MAX_FIELDS, MAX_NAME
from forms_app.models import Form
from forms_app.origins import InvalidOrigin, is_allowed, parse_origin_pattern
from submissions.models import Refusal
from submissions.receiving.gates import MAX_IDEMPOTENCY_KEY
from submissions.receiving.parse_body import MAX_VALUE
from submissions.refusals.store import MANY, MOST_AN_HOUR

NOTHING_LEFT = "nothing is left to do."
PERIODS = {"s": "a second", "m": "a minute", "h": "an hour", "d": "a day"}


class Gate(models.TextChoices):
    """Which of the gates of CONTRACT section 1 was shut."""

    ORIGIN = "origin", "Origin"
    KEY = "key", "Key"
    SIZE = "size", "Size"
    LIMIT = "limit", "Limit"
    VALIDATION = "validation", "Validation"
    STATE = "state", "State"
    ROBOT = "robot", "Robot check"
    RETRY = "retry", "Retry safety"


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """
    `gate`; `title`: what happened, as a short sentence; `fix`: the exact thing to do.

    `add_origin`: the origin that would mend it on the form's list; "" where no such thing would.
    """

    gate: Gate
    title: str
    fix: str
    add_origin: str = ""


def advise(refusal: Refusal) -> Advice:
    """Return what happened and what mends it. Reads the refusal's organization, form and key."""
    return _ADVISERS.get(refusal.code, _other)(refusal)


def form_name(refusal: Refusal) -> str:
    """Return how the form is called in a sentence."""
    return f"“{refusal.form.name}”" if refusal.form else "the form"


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _told(refusal: Refusal, otherwise: str) -> str:
    """Return the answer's own words as a title."""
    return refusal.message.removesuffix(".") or otherwise


def _origin(refusal: Refusal) -> Advice:
    name, origin = form_name(refusal), refusal.origin
    if refusal.detail_code == MANY:
        fix = (
            f"They came after {MOST_AN_HOUR} other kinds of refusals in the hour and are not told apart. "
            f"See whether a page of yours is missing among the allowed origins of {name}."
        )
        return Advice(Gate.ORIGIN, "Many origins that are not allowed", fix)
    if not origin:
        fix = (
            f"{_begun(name)} takes submissions from its allowed origins alone. Send from a page there that does not "
            "hide where it is (no-referrer); from a server, use a secret key."
        )
        return Advice(Gate.ORIGIN, "The request did not say which page it comes from", fix)
    if origin == "null":
        fix = (
            "Browsers send it for files opened from disk and for sandboxed frames. "
            f"Serve the page by http or https from one of the allowed origins of {name}."
        )
        return Advice(Gate.ORIGIN, "The page has the origin “null”", fix)
    title = f"{origin} is not among the allowed origins"
    if not _is_site(origin):
        return Advice(Gate.ORIGIN, title, "Only sites of http and https can be allowed. Serve the page from one.")
    if refusal.form and (not refusal.form.allowed_origins or is_allowed(origin, refusal.form.allowed_origins)):
        return Advice(Gate.ORIGIN, f"{origin} was not allowed then", f"It is allowed now: {NOTHING_LEFT}")
    fix = f"Add {origin} to the allowed origins of {name}, if that page is yours."
    return Advice(Gate.ORIGIN, title, fix, add_origin=origin)


def _is_site(origin: str) -> bool:
    """Tell whether it can stand on a list. A pattern is no origin of a page: whoever sent it made it up."""
    try:
        return "*" not in parse_origin_pattern(origin)
    except InvalidOrigin:
        return False


def _key(refusal: Refusal) -> Advice:
    key = refusal.access_key
    if key is None:
        title, fix = _STRANGE_KEYS.get(refusal.detail_code, _STRANGE_KEYS["unknown"])
        return Advice(Gate.KEY, title, fix.format(prefix=settings.ACCESS_KEY_PREFIX, form=form_name(refusal)))
    if key.revoked_at:
        fix = f"The key {key.hint} was revoked on {key.revoked_at:%Y-%m-%d}: put a key that works in its place."
        return Advice(Gate.KEY, f"The key “{key.name}” is revoked", fix)
    if key.is_expired:
        fix = f"The last day of {key.hint} was {key.expires_on}. Make a new key and put it in its place."
        return Advice(Gate.KEY, f"The key “{key.name}” has expired", fix)
    return Advice(Gate.KEY, f"The key “{key.name}” did not work then", f"It works now: {NOTHING_LEFT}")


_STRANGE_KEYS = {
    "missing": (
        "The access key is missing",
        "Send a key in the header x-access-key. The snippets of {form} hold one.",
    ),
    "misspelt": (
        "The access key is misspelt",
        "Copy the key again, whole and without spaces or quotes; it begins with {prefix}_.",
    ),
    "unknown": (
        "Nobody has the access key that was sent",
        "It was regenerated since, or is of another installation. Put a key of the list of access keys in its place.",
    ),
}


def _foreign(refusal: Refusal) -> Advice:
    fix = "Send the ID of one of your own forms, or use a key of the organization whose form it is."
    return Advice(Gate.KEY, "The form belongs to another organization", fix)


def _limit(refusal: Refusal) -> Advice:
    if refusal.detail_code == "burst":
        by_address, by_form = (_rate(rate) for rate in (settings.BURST_PER_ADDRESS_AND_FORM, settings.BURST_PER_FORM))
        fix = (
            f"Pages may send {by_address} from one address and {by_form} to one form. Our script waits and tries "
            "again; a server with a secret key has no such limit."
        )
        return Advice(Gate.LIMIT, "Too many at once from a page", fix)
    if refusal.detail_code == "address":
        fix = (
            f"One address has {ANONYMOUS_LIMIT} requests an hour that are refused by key, origin or burst. "
            "Mend what they were refused for; it can send again within the hour."
        )
        return Advice(Gate.LIMIT, "Too many refused requests from one address", fix)
    fix = (
        f"The plan has {refusal.organization.hourly_limit:,} requests an hour. Send less often, wait as long as "
        "Retry-After says, or move to a larger plan."
    )
    return Advice(Gate.LIMIT, "The hour's requests of the plan are used up", fix)


def _rate(rate: str) -> str:
    """Return `10/m` as `10 a minute`."""
    count, _, period = rate.partition("/")
    return f"{count} {PERIODS.get(period, f'in {period}')}"


def _size(refusal: Refusal) -> Advice:
    fix = f"Send at most {settings.MAX_BODY_BYTES // 1024} KiB. Instead of a file, send a link to it."
    return Advice(Gate.SIZE, "The body is too large", fix)


def _media_type(refusal: Refusal) -> Advice:
    if refusal.access_key is None:  # posted to the form's own address
        fix = "Send what an HTML form sends, or JSON with the header Content-Type: application/json."
        return Advice(Gate.VALIDATION, "The body is neither a form nor JSON", fix)
    fix = (
        "Send the body as JSON with the header Content-Type: application/json. "
        "Plain HTML forms post to the form's own address instead."
    )
    return Advice(Gate.VALIDATION, "The body is not marked as JSON", fix)


def _json(refusal: Refusal) -> Advice:
    fix = "Send one JSON object of names and values, as JSON.stringify makes it."
    return Advice(Gate.VALIDATION, _told(refusal, "The JSON is malformed"), fix)


def _empty(refusal: Refusal) -> Advice:
    fix = "Send at least one value. Inputs need a name attribute, or browsers leave them out."
    return Advice(Gate.VALIDATION, "There were no values", fix)


def _state(refusal: Refusal) -> Advice:
    name, status = form_name(refusal), refusal.form.status if refusal.form else ""
    if status == Form.Status.ARCHIVED:
        fix = "Archived forms take nothing. Make a new form and put its ID into the page."
        return Advice(Gate.STATE, f"{name} is archived", fix)
    if status == Form.Status.PUBLISHED:
        return Advice(Gate.STATE, f"{name} was not published then", f"It is published now: {NOTHING_LEFT}")
    return Advice(Gate.STATE, f"{_begun(name)} is a draft", f"Publish {name}.")


def _validation(refusal: Refusal) -> Advice:
    field = f"“{refusal.field}”" if refusal.field else "the field"
    if refusal.detail_code == "invalid" and refusal.field == "Idempotency-Key":
        fix = f"Make the Idempotency-Key 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters."
        return Advice(Gate.RETRY, "The Idempotency-Key is malformed", fix)
    if refusal.detail_code in _ROBOT_CHECKS:
        title, fix = _ROBOT_CHECKS[refusal.detail_code]
        return Advice(Gate.ROBOT, title, fix.format(form=form_name(refusal)))
    if refusal.detail_code == "too_many":
        return Advice(Gate.SIZE, _told(refusal, "Too many fields"), f"Send at most {MAX_FIELDS} fields.")
    if refusal.detail_code == "too_long" and refusal.field:
        return Advice(Gate.SIZE, _told(refusal, "Too long"), f"Send at most {MAX_VALUE:,} characters in {field}.")
    if refusal.detail_code == "too_long":
        fix = f"Send at most {MAX_VALUE:,} characters a value, {MAX_NAME} a name; JSON needs its Content-Type."
        return Advice(Gate.SIZE, "A value or the name of a field is too long", fix)
    fix = _FIXES.get(refusal.detail_code, "Mend the value of {field}, or change its type in the form.")
    return Advice(Gate.VALIDATION, _told(refusal, f"{_begun(field)} did not fit"), fix.format(field=field))


_ROBOT_CHECKS = {
    "captcha_required": (
        "The captcha was not solved",
        "Put the captcha's widget into the page, inside the form, or turn the captcha of {form} off.",
    ),
    "proof_of_work_required": (
        "The proof of work is missing, wrong or used",
        "Send with our script or from the form's page, which compute it, or turn the proof of work of {form} off.",
    ),
}
_OR_ITS_TYPE = ", or change the field's type in the form."
_FIXES = {
    "required": "Send a value for the field {field}: the input's name must be exactly that.",
    "invalid_email": "Send an email address, such as ada@example.com, as {field}" + _OR_ITS_TYPE,
    "invalid_url": "Send an address that begins with http:// or https:// as {field}" + _OR_ITS_TYPE,
    "invalid_number": "Send a number, such as 12.5, as {field}" + _OR_ITS_TYPE,
    "invalid_date": "Send a date, such as 2026-01-31, as {field}" + _OR_ITS_TYPE,
    "invalid_choice": "Send one of the options of {field}, spelt as in the form, or add the option there.",
    "invalid_type": "Send {field} as a text, a number, true, false, null or a list of these, not as an object.",
    "file_not_allowed": "Take the file input {field} out of the page: files are not taken.",
    "blank": "Give every input a name.",
    "malformed": "Send the form as browsers do: check its encoding, and the boundary of multipart.",
    "invalid_id": "Copy the form's ID from its page; it begins with frm_ and has 26 characters after that.",
}


def _conflict(refusal: Refusal) -> Advice:
    fix = "Make a new Idempotency-Key for each submission, and repeat it only with the very same body."
    return Advice(Gate.RETRY, "One Idempotency-Key came with two bodies", fix)


def _other(refusal: Refusal) -> Advice:
    title = refusal.code.replace("_", " ").capitalize()
    return Advice(Gate.VALIDATION, title, _begun(refusal.message) or "See the API documentation.")


_ADVISERS: dict[str, Callable[[Refusal], Advice]] = {
    "origin_not_allowed": _origin,
    "invalid_access_key": _key,
    "unauthorized": _foreign,
    "rate_limited": _limit,
    "payload_too_large": _size,
    "unsupported_media_type": _media_type,
    "invalid_json": _json,
    "empty_submission": _empty,
    "form_not_published": _state,
    "validation_error": _validation,
    "conflict": _conflict,
}
