"""Advice on a refused submission, in the form owner's words: a stored refusal in, sentences out, no I/O."""

import dataclasses
from collections.abc import Callable

from django.conf import settings
from django.db import models

from config.api.parsing import MAX_IDEMPOTENCY_KEY
from config.api.ratelimit import ANONYMOUS_LIMIT
from forms_app.field_definitions import MAX_FIELDS, MAX_NAME
from forms_app.field_kinds import KINDS
from forms_app.models import Form
from forms_app.origins import InvalidOrigin, is_allowed, parse_origin_pattern
from submissions.models import Refusal
from submissions.receiving.parse_body import MAX_VALUE
from submissions.refusals.store import MANY, MOST_AN_HOUR

NOTHING_TO_DO = "there is nothing to do."
PERIODS = {"s": "second", "m": "minute", "h": "hour", "d": "day"}


class Gate(models.TextChoices):
    """The check that refused the submission; docs/contract.md 1 has their order."""

    ORIGIN = "origin", "Origin"
    KEY = "key", "Key"
    FORM = "form", "Form"
    SIZE = "size", "Size"
    LIMIT = "limit", "Limit"
    VALIDATION = "validation", "Validation"
    STATE = "state", "State"
    ROBOT = "robot", "Robot check"
    RETRY = "retry", "Retry safety"


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """
    `title` says what happened, as a short sentence; `fix` says exactly what to do.

    `add_origin`: the origin that fixes it when it is added to the form's allowed origins, "" if none does.
    """

    gate: Gate
    title: str
    fix: str
    add_origin: str = ""


def advise(refusal: Refusal) -> Advice:
    """Return the cause and the fix. Reads the refusal's organization, form and key."""
    return ADVISERS.get(refusal.code, _other)(refusal)


def form_name(refusal: Refusal) -> str:
    """Return the name of the form within a sentence."""
    return f"“{refusal.form.name}”" if refusal.form else "the form"


def _capitalized(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _answered(refusal: Refusal, default: str) -> str:
    """Return the message of the response as a title."""
    return refusal.message.removesuffix(".") or default


def _origin(refusal: Refusal) -> Advice:
    name, origin = form_name(refusal), refusal.origin
    if refusal.detail_code == MANY:
        fix = (
            f"They followed {MOST_AN_HOUR} other kinds of refusals in the same hour and are counted together. "
            f"Check whether the allowed origins of {name} include all of your pages."
        )
        return Advice(Gate.ORIGIN, "Many origins that are not allowed", fix)
    if not origin:
        fix = (
            f"{_capitalized(name)} only accepts submissions from its allowed origins. Send from one of those pages, "
            "without the referrer policy no-referrer; from a server, use a secret key."
        )
        return Advice(Gate.ORIGIN, "The request has no origin", fix)
    if origin == "null":
        fix = (
            "Browsers send it for files opened from disk and for sandboxed frames. "
            f"Serve the page over http or https from one of the allowed origins of {name}."
        )
        return Advice(Gate.ORIGIN, "The page has the origin “null”", fix)
    return _unlisted_origin(refusal, name, origin)


def _unlisted_origin(refusal: Refusal, name: str, origin: str) -> Advice:
    title = f"{origin} is not among the allowed origins"
    if not _can_be_listed(origin):
        return Advice(Gate.ORIGIN, title, "Only http and https sites can be allowed. Serve the page from one.")
    if refusal.form and (not refusal.form.allowed_origins or is_allowed(origin, refusal.form.allowed_origins)):
        return Advice(Gate.ORIGIN, f"{origin} was not allowed then", f"It is allowed now: {NOTHING_TO_DO}")
    fix = f"Add {origin} to the allowed origins of {name}, if that page is yours."
    return Advice(Gate.ORIGIN, title, fix, add_origin=origin)


def _can_be_listed(origin: str) -> bool:
    """Return whether a form can allow it. A pattern is never the origin of a page: its sender made it up."""
    try:
        return "*" not in parse_origin_pattern(origin)
    except InvalidOrigin:
        return False


def _key(refusal: Refusal) -> Advice:
    key = refusal.access_key
    if key and refusal.detail_code == "secret":
        fix = f"Every visitor can read {key.hint}. Put a publishable key into the page, then regenerate “{key.name}”."
        return Advice(Gate.KEY, f"The page has the secret key “{key.name}” in its body", fix)
    if key is None:
        title, fix = UNKNOWN_KEYS.get(refusal.detail_code, UNKNOWN_KEYS["unknown"])
        return Advice(Gate.KEY, title, fix.format(prefix=settings.ACCESS_KEY_PREFIX, form=form_name(refusal)))
    if key.revoked_at:
        fix = f"The key {key.hint} was revoked on {key.revoked_at:%Y-%m-%d}. Replace it with a working key."
        return Advice(Gate.KEY, f"The key “{key.name}” is revoked", fix)
    if key.is_expired:
        fix = f"The last day of {key.hint} was {key.expires_on}. Create a key and replace it."
        return Advice(Gate.KEY, f"The key “{key.name}” has expired", fix)
    return Advice(Gate.KEY, f"The key “{key.name}” did not work then", f"It works now: {NOTHING_TO_DO}")


UNKNOWN_KEYS = {
    "missing": (
        "The access key is missing",
        "Send a key in the header x-access-key. The snippets of {form} contain one.",
    ),
    "misspelt": (
        "The access key is misspelled",
        "Copy the key again, complete and without spaces or quotes. It starts with {prefix}_.",
    ),
    "unknown": (
        "The access key does not exist",
        "It was regenerated, or belongs to another installation. Replace it with a key from your list of access keys.",
    ),
}


def _foreign_form(_refusal: Refusal) -> Advice:
    fix = "Send the ID of one of your forms, or use a key of the organization that owns the form."
    return Advice(Gate.FORM, "The form belongs to another organization", fix)


def _unknown_form(_refusal: Refusal) -> Advice:
    fix = "Copy the form's ID again from its page. An erased form cannot be restored: use another one."
    return Advice(Gate.FORM, "There is no form with the ID that was sent", fix)


def _limit(refusal: Refusal) -> Advice:
    if refusal.detail_code == "burst":
        by_address, by_form = (_rate(rate) for rate in (settings.BURST_PER_ADDRESS_AND_FORM, settings.BURST_PER_FORM))
        fix = (
            f"Pages can send {by_address} from one address and {by_form} to one form. Our script waits and retries. "
            "A server with a secret key does not have this limit."
        )
        return Advice(Gate.LIMIT, "Too many submissions from pages within a short time", fix)
    if refusal.detail_code == "address":
        fix = (
            f"One address can send {ANONYMOUS_LIMIT} requests an hour without a valid key, and submissions from pages "
            "that are refused or spam. Fix the cause of those refusals. The address can send again within the hour."
        )
        return Advice(Gate.LIMIT, "Too many refused requests from one address", fix)
    fix = (
        f"The plan includes {refusal.organization.hourly_limit:,} requests an hour. Pages have nine tenths. Send "
        "fewer requests, wait for the seconds in Retry-After, or move to a larger plan."
    )
    return Advice(Gate.LIMIT, "The plan's requests of this hour are used up", fix)


def _rate(rate: str) -> str:
    """Return `10/m` as `10 a minute`."""
    count, _, period = rate.partition("/")
    name = PERIODS.get(period)
    article = "an" if name == "hour" else "a"
    return f"{count} {article} {name}" if name else f"{count} in {period}"


def _size(_refusal: Refusal) -> Advice:
    fix = f"Send at most {settings.MAX_BODY_BYTES // 1024} KiB. Instead of a file, send a link to it."
    return Advice(Gate.SIZE, "The body is too large", fix)


def _media_type(refusal: Refusal) -> Advice:
    if refusal.access_key is None:  # posted to the form's own address
        fix = "Send the format of an HTML form, or JSON with the header Content-Type: application/json."
        return Advice(Gate.VALIDATION, "The body is neither a form nor JSON", fix)
    fix = (
        "Send the body as JSON with the header Content-Type: application/json. "
        "Plain HTML forms post to the form's own address instead."
    )
    return Advice(Gate.VALIDATION, "The body is not declared as JSON", fix)


def _json(refusal: Refusal) -> Advice:
    fix = "Send one JSON object of names and values, for example from JSON.stringify."
    return Advice(Gate.VALIDATION, _answered(refusal, "The JSON is malformed"), fix)


def _empty(_refusal: Refusal) -> Advice:
    fix = "Send at least one value. Browsers leave out inputs without a name attribute."
    return Advice(Gate.VALIDATION, "The submission has no values", fix)


def _state(refusal: Refusal) -> Advice:
    name, status = form_name(refusal), refusal.form.status if refusal.form else ""
    if status == Form.Status.ARCHIVED:
        fix = "Archived forms accept no submissions. Create a form and use its ID in the page."
        return Advice(Gate.STATE, f"{name} is archived", fix)
    if status == Form.Status.PUBLISHED:
        return Advice(Gate.STATE, f"{name} was not published then", f"It is published now: {NOTHING_TO_DO}")
    return Advice(Gate.STATE, f"{_capitalized(name)} is a draft", f"Publish {name}.")


def _validation(refusal: Refusal) -> Advice:
    if refusal.detail_code in ROBOT_CHECKS:
        title, fix = ROBOT_CHECKS[refusal.detail_code]
        return Advice(Gate.ROBOT, title, fix.format(form=form_name(refusal)))
    if refusal.detail_code == "invalid" and refusal.field == "Idempotency-Key":
        fix = f"Use 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters as the Idempotency-Key."
        return Advice(Gate.RETRY, "The Idempotency-Key is malformed", fix)
    if refusal.detail_code in ("too_many", "too_long"):
        return _too_much(refusal)
    field = f"“{refusal.field}”" if refusal.field else "the field"
    fix = FIXES.get(refusal.detail_code, "Correct the value of {field}, or change its type in the form.")
    title = _answered(refusal, f"The value of {field} is not valid")
    return Advice(Gate.VALIDATION, title, fix.format(field=field))


def _too_much(refusal: Refusal) -> Advice:
    if refusal.detail_code == "too_many":
        return Advice(Gate.SIZE, _answered(refusal, "Too many fields"), f"Send at most {MAX_FIELDS} fields.")
    if refusal.field:
        fix = f"Send at most {MAX_VALUE:,} characters in “{refusal.field}”."
        return Advice(Gate.SIZE, _answered(refusal, "The value is too long"), fix)
    fix = (
        f"Send at most {MAX_VALUE:,} characters in a value and {MAX_NAME} in a name. "
        "JSON needs the header Content-Type: application/json."  # without it, the whole body is one long name
    )
    return Advice(Gate.SIZE, "A value or the name of a field is too long", fix)


ROBOT_CHECKS = {
    "captcha_required": (
        "The captcha was not solved",
        "Add the captcha's widget to the page, inside the form, or turn off the captcha of {form}.",
    ),
    "proof_of_work_required": (
        "The proof of work is missing, wrong or already used",
        "Send with our script or from the form's page, which compute it, or turn off the proof of work of {form}.",
    ),
}
FORMAT_FIXES = {
    kind.check.code: (
        f"Send {str(kind.check.message)[len('%(label)s must be ') : -1]}, such as {kind.example}, as {{field}}, "
        "or change the field's type in the form."
    )
    for kind in KINDS.values()
    if kind.check
}
FIXES = FORMAT_FIXES | {
    "required": "Send a value for the field {field}. The name of the input must be exactly the same.",
    "invalid_choice": "Send one of the options of {field}, spelled as in the form, or add the option to the form.",
    "invalid_type": "Send {field} as a text, a number, true, false, null or a list of these, not as an object.",
    "file_not_allowed": "Remove the file input {field} from the page: files are not accepted.",
    "blank": "Give every input a name.",
    "malformed": "Send the form as browsers do: check its encoding, and the boundary of multipart.",
    "invalid_id": "Copy the form's ID from its page. It is frm_ and 26 more characters.",
}


def _conflict(_refusal: Refusal) -> Advice:
    fix = "Use a new Idempotency-Key for each submission, and repeat it only with exactly the same body."
    return Advice(Gate.RETRY, "The same Idempotency-Key was sent with two different bodies", fix)


def _suspended(_refusal: Refusal) -> Advice:
    fix = "Contact the operator of this service. Forms and keys work again when the organization is resumed."
    return Advice(Gate.STATE, "The organization was suspended", fix)


def _full(_refusal: Refusal) -> Advice:
    fix = "Delete submissions that you no longer need, set a retention for your forms, or change to a larger plan."
    return Advice(Gate.LIMIT, "The storage of the plan was full", fix)


def _other(refusal: Refusal) -> Advice:
    title = refusal.code.replace("_", " ").capitalize()
    return Advice(Gate.VALIDATION, title, _capitalized(refusal.message) or "See the API documentation.")


ADVISERS: dict[str, Callable[[Refusal], Advice]] = {
    "origin_not_allowed": _origin,
    "invalid_access_key": _key,
    "unauthorized": _foreign_form,
    "not_found": _unknown_form,
    "rate_limited": _limit,
    "payload_too_large": _size,
    "unsupported_media_type": _media_type,
    "invalid_json": _json,
    "empty_submission": _empty,
    "form_not_published": _state,
    "suspended": _suspended,
    "quota_exceeded": _full,
    "validation_error": _validation,
    "conflict": _conflict,
}
