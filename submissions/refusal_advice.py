"""What to do about a refused submission, in words for who owns the form. Pure: a stored refusal in, sentences out."""

import dataclasses
from collections.abc import Callable

from django.db import models

from forms_app.models import Form
from submissions.intake import MAX_FIELDS, MAX_VALUE
from submissions.models import Refusal


class Gate(models.TextChoices):
    """Which of the gates of CONTRACT section 1 was shut."""

    ORIGIN = "origin", "Origin"
    KEY = "key", "Key"
    SIZE = "size", "Size"
    LIMIT = "limit", "Limit"
    VALIDATION = "validation", "Validation"
    STATE = "state", "State"
    RETRY = "retry", "Retry safety"


@dataclasses.dataclass(frozen=True, slots=True)
class Advice:
    """`gate`; what happened, as a short sentence; `fix`: the exact thing to do."""

    gate: Gate
    title: str
    fix: str


def advise(refusal: Refusal) -> Advice:
    """Return what happened and what mends it."""
    return _ADVISERS.get(refusal.code, _other)(refusal)


def form_name(refusal: Refusal) -> str:
    """Return how the form is called in a sentence."""
    return f"“{refusal.form.name}”" if refusal.form else "the form"


def _origin(refusal: Refusal) -> Advice:
    name = form_name(refusal)
    if refusal.origin in ("", "null"):
        title = "The page did not say where it comes from"
        fix = (
            f"{name} takes submissions from its allowed origins alone. Serve the page from one of them, "
            "not from a file or a sandboxed frame; from a server, use a secret key."
        )
        return Advice(Gate.ORIGIN, title, fix)
    fix = f"Add {refusal.origin} to the allowed origins of {name}, if that page is yours."
    return Advice(Gate.ORIGIN, f"{refusal.origin} is not among the allowed origins", fix)


def _key(refusal: Refusal) -> Advice:
    key = refusal.access_key
    if key is None:
        title = "The access key is missing, misspelt or unknown"
        fix = (
            "Send a key of this organization in the header x-access-key, whole and without spaces. "
            "The snippets of the form hold one."
        )
        return Advice(Gate.KEY, title, fix)
    if key.revoked_at:
        title = f"The key “{key.name}” is revoked"
        return Advice(Gate.KEY, title, f"It ended on {key.revoked_at:%Y-%m-%d}. Put a key that works in its place.")
    if key.is_expired:
        title = f"The key “{key.name}” has expired"
        return Advice(
            Gate.KEY, title, f"Its last day was {key.expires_on}. Generate a new key and put it in its place."
        )
    return Advice(
        Gate.KEY, f"An older secret of “{key.name}” was used", "Put the newest secret of this key in its place."
    )


def _limit(refusal: Refusal) -> Advice:
    if refusal.detail_code == "burst":
        title = "Too many at once from a page"
        fix = (
            "Pages may send 10 submissions a minute from one address and 60 to one form. Our script waits and tries "
            "again; a server with a secret key has no such limit."
        )
        return Advice(Gate.LIMIT, title, fix)
    fix = "Send less often, wait as long as Retry-After says, or move to a larger plan."
    return Advice(Gate.LIMIT, "The hour's requests of the plan are used up", fix)


def _size(refusal: Refusal) -> Advice:
    fix = f"Send at most 256 KiB, {MAX_FIELDS} fields, {MAX_VALUE:,} characters a value, and no files."
    return Advice(Gate.SIZE, "The body is too large", fix)


def _media_type(refusal: Refusal) -> Advice:
    fix = "Send JSON with the header Content-Type: application/json. HTML forms post to the form's own address instead."
    return Advice(Gate.VALIDATION, "The body is not JSON", fix)


def _json(refusal: Refusal) -> Advice:
    return Advice(Gate.VALIDATION, "The JSON is malformed", refusal.message or "Send one JSON object.")


def _empty(refusal: Refusal) -> Advice:
    fix = "Send at least one value. Inputs need a name attribute, or browsers leave them out."
    return Advice(Gate.VALIDATION, "There were no values", fix)


def _state(refusal: Refusal) -> Advice:
    name = form_name(refusal)
    if refusal.form and refusal.form.status == Form.Status.ARCHIVED:
        fix = "Archived forms take nothing. Make a new form and put its ID into the page."
        return Advice(Gate.STATE, f"{name} is archived", fix)
    if refusal.form and refusal.form.status == Form.Status.PUBLISHED:
        return Advice(Gate.STATE, f"{name} was not published then", "It is published now: nothing is left to do.")
    return Advice(Gate.STATE, f"{name} is a draft", f"Publish {name}.")


def _validation(refusal: Refusal) -> Advice:
    if refusal.field == "formId":
        fix = "Copy the form's ID from its page; it begins with frm_."
        return Advice(Gate.VALIDATION, "The form's ID is malformed", fix)
    if refusal.detail_code in ("captcha_required", "proof_of_work_required"):
        fix = "The form asks for a proof that a person sends. Use our script or the form's page, or turn it off."
        return Advice(Gate.VALIDATION, "The robot check was not passed", fix)
    if refusal.detail_code == "too_long" or refusal.detail_code == "too_many":
        return dataclasses.replace(_size(refusal), title=refusal.message or "A value is too long")
    if not refusal.field:
        return Advice(Gate.VALIDATION, refusal.message or "A value did not fit", "Look at the fields of the form.")
    fixes = {
        "required": f"Send a value for “{refusal.field}”. The input's name must be exactly that.",
        "invalid_choice": f"Send one of the options of “{refusal.field}”, spelt as in the form.",
        "file_not_allowed": f"Take the file input “{refusal.field}” out of the page: files are not taken.",
    }
    fix = fixes.get(refusal.detail_code, f"Mend the value of “{refusal.field}”, or change its type in the form.")
    return Advice(Gate.VALIDATION, refusal.message or f"“{refusal.field}” did not fit", fix)


def _conflict(refusal: Refusal) -> Advice:
    fix = "Make a new Idempotency-Key for each submission, and repeat it only with the very same body."
    return Advice(Gate.RETRY, "One Idempotency-Key came with two bodies", fix)


def _other(refusal: Refusal) -> Advice:
    return Advice(
        Gate.STATE, refusal.code.replace("_", " ").capitalize(), refusal.message or "See the API documentation."
    )


_ADVISERS: dict[str, Callable[[Refusal], Advice]] = {
    "origin_not_allowed": _origin,
    "invalid_access_key": _key,
    "rate_limited": _limit,
    "payload_too_large": _size,
    "unsupported_media_type": _media_type,
    "invalid_json": _json,
    "empty_submission": _empty,
    "form_not_published": _state,
    "validation_error": _validation,
    "conflict": _conflict,
}
