"""Advice on a refused submission, in the form owner's words: a stored refusal in, sentences out, no I/O."""

import dataclasses
from collections.abc import Callable

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models
from django.utils.translation import gettext, gettext_lazy

from config.api.parsing import MAX_IDEMPOTENCY_KEY
from config.api.ratelimit import ANONYMOUS_LIMIT
from forms_app.field_definitions import MAX_FIELDS, MAX_NAME
from forms_app.field_kinds import KINDS
from forms_app.models import Form
from forms_app.origins import InvalidOrigin, is_allowed, parse_origin_pattern
from submissions.models import Refusal
from submissions.receiving.parse_body import MAX_VALUE
from submissions.refusals.store import MANY, MOST_AN_HOUR

PERIODS = {
    "s": gettext_lazy("{count} a second"),
    "m": gettext_lazy("{count} a minute"),
    "h": gettext_lazy("{count} an hour"),
    "d": gettext_lazy("{count} a day"),
}


class Gate(models.TextChoices):
    """The check that refused the submission; docs/contract.md 1 has their order."""

    ORIGIN = "origin", gettext_lazy("Origin")
    KEY = "key", gettext_lazy("Key")
    FORM = "form", gettext_lazy("Form")
    SIZE = "size", gettext_lazy("Size")
    LIMIT = "limit", gettext_lazy("Limit")
    VALIDATION = "validation", gettext_lazy("Validation")
    STATE = "state", gettext_lazy("State")
    ROBOT = "robot", gettext_lazy("Robot check")
    RETRY = "retry", gettext_lazy("Retry safety")


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
    # Translators: it takes the place of a form's name, as %(form)s, at the start of a sentence too.
    return f"“{refusal.form.name}”" if refusal.form else gettext("the form")


def _capitalized(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _answered(refusal: Refusal, default: str) -> str:
    """Return the message of the response as a title, translated if it is one without values."""
    return gettext(refusal.message).removesuffix(".") or default


def _origin(refusal: Refusal) -> Advice:
    name, origin = form_name(refusal), refusal.origin
    if refusal.detail_code == MANY:
        fix = gettext(
            "They followed %(most)s other kinds of refusals in the same hour and are counted together. "
            "Check whether the allowed origins of %(form)s include all of your pages."
        ) % {"most": MOST_AN_HOUR, "form": name}
        return Advice(Gate.ORIGIN, gettext("Many origins that are not allowed"), fix)
    if not origin:
        fix = gettext(
            "%(form)s only accepts submissions from its allowed origins. Send from one of those pages, without the "
            "referrer policy no-referrer; from a server, use a secret key."
        ) % {"form": name}
        return Advice(Gate.ORIGIN, gettext("The request has no origin"), _capitalized(fix))
    if origin == "null":
        fix = gettext(
            "Browsers send it for files opened from disk and for sandboxed frames. "
            "Serve the page over http or https from one of the allowed origins of %(form)s."
        ) % {"form": name}
        return Advice(Gate.ORIGIN, gettext("The page has the origin “null”"), fix)
    return _unlisted_origin(refusal, name, origin)


def _unlisted_origin(refusal: Refusal, name: str, origin: str) -> Advice:
    title = gettext("%(origin)s is not among the allowed origins") % {"origin": origin}
    if not _can_be_listed(origin):
        return Advice(Gate.ORIGIN, title, gettext("Only http and https sites can be allowed. Serve the page from one."))
    if refusal.form and (not refusal.form.allowed_origins or is_allowed(origin, refusal.form.allowed_origins)):
        then = gettext("%(origin)s was not allowed then") % {"origin": origin}
        return Advice(Gate.ORIGIN, then, gettext("It is allowed now: there is nothing to do."))
    fix = gettext("Add %(origin)s to the allowed origins of %(form)s, if that page is yours.")
    fix %= {"origin": origin, "form": name}
    return Advice(Gate.ORIGIN, title, fix, add_origin=origin)


def _can_be_listed(origin: str) -> bool:
    """Return whether a form can allow it. A pattern is never the origin of a page: its sender made it up."""
    try:
        return "*" not in parse_origin_pattern(origin)
    except InvalidOrigin:
        return False


def _key(refusal: Refusal) -> Advice:
    key = refusal.access_key
    if key is None:
        said, advice = UNKNOWN_KEYS.get(refusal.detail_code, UNKNOWN_KEYS["unknown"])
        filled = advice.format(prefix=settings.ACCESS_KEY_PREFIX, form=form_name(refusal))
        return Advice(Gate.KEY, str(said), filled)
    if refusal.detail_code == "secret":
        title = gettext("The page has the secret key “%(key)s” in its body")
        fix = gettext(
            "Every visitor can read %(hint)s. Put a publishable key into the page, then regenerate “%(key)s”."
        )
    elif key.revoked_at:
        title = gettext("The key “%(key)s” is revoked")
        fix = gettext("The key %(hint)s was revoked on %(day)s. Replace it with a working key.")
    elif key.is_expired:
        title = gettext("The key “%(key)s” has expired")
        fix = gettext("The last day of %(hint)s was %(day)s. Create a key and replace it.")
    else:
        title = gettext("The key “%(key)s” did not work then")
        fix = gettext("It works now: there is nothing to do.")
    day = f"{key.revoked_at:%Y-%m-%d}" if key.revoked_at else key.expires_on
    values = {"key": key.name, "hint": key.hint, "day": day}
    return Advice(Gate.KEY, title % values, fix % values)


UNKNOWN_KEYS = {
    "missing": (
        gettext_lazy("The access key is missing"),
        gettext_lazy("Send a key in the header x-access-key. The snippets of {form} contain one."),
    ),
    "misspelt": (
        gettext_lazy("The access key is misspelled"),
        gettext_lazy("Copy the key again, complete and without spaces or quotes. It starts with {prefix}_."),
    ),
    "unknown": (
        gettext_lazy("The access key does not exist"),
        gettext_lazy(
            "It was regenerated, or belongs to another installation. Replace it with a key from your list of access "
            "keys."
        ),
    ),
}


def _foreign_form(_refusal: Refusal) -> Advice:
    fix = gettext("Send the ID of one of your forms, or use a key of the organization that owns the form.")
    return Advice(Gate.FORM, gettext("The form belongs to another organization"), fix)


def _unknown_form(_refusal: Refusal) -> Advice:
    fix = gettext("Copy the form's ID again from its page. An erased form cannot be restored: use another one.")
    return Advice(Gate.FORM, gettext("There is no form with the ID that was sent"), fix)


def _limit(refusal: Refusal) -> Advice:
    if refusal.detail_code == "burst":
        by_address, by_form = (_rate(rate) for rate in (settings.BURST_PER_ADDRESS_AND_FORM, settings.BURST_PER_FORM))
        fix = gettext(
            "Pages can send %(by_address)s from one address and %(by_form)s to one form. Our script waits and "
            "retries. A server with a secret key does not have this limit."
        ) % {"by_address": by_address, "by_form": by_form}
        return Advice(Gate.LIMIT, gettext("Too many submissions from pages within a short time"), fix)
    if refusal.detail_code == "address":
        fix = gettext(
            "One address can send %(most)s requests an hour without a valid key, and submissions from pages that "
            "are refused or spam. Fix the cause of those refusals. The address can send again within the hour."
        ) % {"most": ANONYMOUS_LIMIT}
        return Advice(Gate.LIMIT, gettext("Too many refused requests from one address"), fix)
    fix = gettext(
        "The plan includes %(most)s requests an hour. Pages have nine tenths. Send fewer requests, wait for the "
        "seconds in Retry-After, or ask for a higher limit."
    ) % {"most": intcomma(refusal.organization.hourly_limit)}
    return Advice(Gate.LIMIT, gettext("The plan's requests of this hour are used up"), fix)


def _rate(rate: str) -> str:
    """Return `10/m` as `10 a minute`."""
    count, _, period = rate.partition("/")
    return PERIODS.get(period, gettext_lazy("{count} in {period}")).format(count=count, period=period)


def _size(_refusal: Refusal) -> Advice:
    fix = gettext("Send at most %(most)s KiB. Instead of a file, send a link to it.")
    fix %= {"most": settings.MAX_BODY_BYTES // 1024}
    return Advice(Gate.SIZE, gettext("The body is too large"), fix)


def _media_type(refusal: Refusal) -> Advice:
    if refusal.access_key is None:  # posted to the form's own address
        fix = gettext("Send the format of an HTML form, or JSON with the header Content-Type: application/json.")
        return Advice(Gate.VALIDATION, gettext("The body is neither a form nor JSON"), fix)
    fix = gettext(
        "Send the body as JSON with the header Content-Type: application/json. "
        "Plain HTML forms post to the form's own address instead."
    )
    return Advice(Gate.VALIDATION, gettext("The body is not declared as JSON"), fix)


def _json(refusal: Refusal) -> Advice:
    fix = gettext("Send one JSON object of names and values, for example from JSON.stringify.")
    return Advice(Gate.VALIDATION, _answered(refusal, gettext("The JSON is malformed")), fix)


def _empty(_refusal: Refusal) -> Advice:
    fix = gettext("Send at least one value. Browsers leave out inputs without a name attribute.")
    return Advice(Gate.VALIDATION, gettext("The submission has no values"), fix)


def _state(refusal: Refusal) -> Advice:
    name, status = form_name(refusal), refusal.form.status if refusal.form else ""
    if status == Form.Status.ARCHIVED:
        fix = gettext("Archived forms accept no submissions. Create a form and use its ID in the page.")
        return Advice(Gate.STATE, gettext("%(form)s is archived") % {"form": name}, fix)
    if status == Form.Status.PUBLISHED:
        then = gettext("%(form)s was not published then") % {"form": name}
        return Advice(Gate.STATE, then, gettext("It is published now: there is nothing to do."))
    title = _capitalized(gettext("%(form)s is a draft") % {"form": name})
    return Advice(Gate.STATE, title, gettext("Publish %(form)s.") % {"form": name})


def _validation(refusal: Refusal) -> Advice:
    if refusal.detail_code in ROBOT_CHECKS:
        said, advice = ROBOT_CHECKS[refusal.detail_code]
        return Advice(Gate.ROBOT, str(said), advice.format(form=form_name(refusal)))
    if refusal.detail_code == "invalid" and refusal.field == "Idempotency-Key":
        fix = gettext("Use 1 to %(most)s printable ASCII characters as the Idempotency-Key.")
        fix %= {"most": MAX_IDEMPOTENCY_KEY}
        return Advice(Gate.RETRY, gettext("The Idempotency-Key is malformed"), fix)
    if refusal.detail_code in ("too_many", "too_long"):
        return _too_much(refusal)
    # Translators: it takes the place of a field's name, as {field} and %(field)s.
    field = f"“{refusal.field}”" if refusal.field else gettext("the field")
    title = _answered(refusal, gettext("The value of %(field)s is not valid") % {"field": field})
    return Advice(Gate.VALIDATION, title, _fix_of_value(refusal.detail_code).format(field=field))


def _fix_of_value(code: str) -> str:
    """Return what to do about a value, with a place for the `field`."""
    kind = next((one for one in KINDS.values() if one.check and one.check.code == code), None)
    if kind is None:
        return str(FIXES.get(code) or gettext("Correct the value of {field}, or change its type in the form."))
    fix = gettext(
        "Send a value of the type {type}, such as {example}, as {field}, or change the field's type in the form."
    )
    return fix.format(type=kind.label, example=kind.example, field="{field}")


def _too_much(refusal: Refusal) -> Advice:
    if refusal.detail_code == "too_many" and refusal.field:
        fix = gettext("Send fewer files as “%(field)s”, or let the field take more in the form.")
        return Advice(Gate.SIZE, _answered(refusal, gettext("Too many files")), fix % {"field": refusal.field})
    if refusal.detail_code == "too_many":
        fix = gettext("Send at most %(most)s fields.") % {"most": MAX_FIELDS}
        return Advice(Gate.SIZE, _answered(refusal, gettext("Too many fields")), fix)
    if refusal.field:
        fix = gettext("Send at most %(most)s characters in “%(field)s”.")
        fix %= {"most": intcomma(MAX_VALUE), "field": refusal.field}
        return Advice(Gate.SIZE, _answered(refusal, gettext("The value is too long")), fix)
    fix = gettext(  # JSON without its header is a body that is one long name
        "Send at most %(most)s characters in a value and %(longest)s in a name. "
        "JSON needs the header Content-Type: application/json."
    ) % {"most": intcomma(MAX_VALUE), "longest": MAX_NAME}
    return Advice(Gate.SIZE, gettext("A value or the name of a field is too long"), fix)


ROBOT_CHECKS = {
    "captcha_required": (
        gettext_lazy("The captcha was not solved"),
        gettext_lazy("Add the captcha's widget to the page, inside the form, or turn off the captcha of {form}."),
    ),
    "proof_of_work_required": (
        gettext_lazy("The proof of work is missing, wrong or already used"),
        gettext_lazy(
            "Send with our script or from the form's page, which compute it, or turn off the proof of work of {form}."
        ),
    ),
    "too_fast": (
        gettext_lazy("It was sent sooner after the page was opened than people type"),
        gettext_lazy("Visitors are asked once to send it again. If it happens often, lower the minimum of {form}."),
    ),
}
FIXES = {
    "required": gettext_lazy("Send a value for the field {field}. The name of the input must be exactly the same."),
    "invalid_choice": gettext_lazy(
        "Send one of the options of {field}, spelled as in the form, or add the option to the form."
    ),
    "invalid_type": gettext_lazy(
        "Send {field} as a text, a number, true, false, null or a list of these, not as an object."
    ),
    "file_not_allowed": gettext_lazy(
        "Remove the file input {field} from the page, or declare a field of the type File with exactly this name."
    ),
    "too_large": gettext_lazy("Send a smaller file as {field}, or raise the largest size of its files in the form."),
    "empty_file": gettext_lazy("Send a file with content as {field}."),
    "file_type_not_allowed": gettext_lazy(
        "Send a file of another type as {field}, or change the types that the field accepts. "
        "HTML, SVG, scripts and programs are never accepted."
    ),
    "invalid_upload": gettext_lazy(
        "Send the ID of a file that was uploaded for {field} of this form. It can be used once, before it expires."
    ),
    "blank": gettext_lazy("Give every input a name."),
    "malformed": gettext_lazy("Send the form as browsers do: check its encoding, and the boundary of multipart."),
    "invalid_id": gettext_lazy("Copy the form's ID from its page. It is frm_ and 26 more characters."),
}


def _conflict(_refusal: Refusal) -> Advice:
    fix = gettext("Use a new Idempotency-Key for each submission, and repeat it only with exactly the same body.")
    return Advice(Gate.RETRY, gettext("The same Idempotency-Key was sent with two different bodies"), fix)


def _suspended(_refusal: Refusal) -> Advice:
    fix = gettext("Contact the operator of this service. Forms and keys work again when the organization is resumed.")
    return Advice(Gate.STATE, gettext("The organization was suspended"), fix)


def _full(_refusal: Refusal) -> Advice:
    fix = gettext(
        "Delete submissions that you no longer need, set a retention for your forms, or ask for a higher limit."
    )
    return Advice(Gate.LIMIT, gettext("The storage of the plan was full"), fix)


def _other(refusal: Refusal) -> Advice:
    title = refusal.code.replace("_", " ").capitalize()
    return Advice(
        Gate.VALIDATION, title, _capitalized(gettext(refusal.message)) or gettext("See the API documentation.")
    )


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
