"""
The last gates of a submission, the same for `/api/submit` and `/f/`: state, values, people and not machines, spam.

What passes is stored; what was stored before under the same idempotency key is answered so again, whatever holds now.
"""

import dataclasses
import string
from collections.abc import Iterator

from django.http import HttpRequest

from config.api.errors import ApiError, EmptySubmission, FormNotPublished, ValidationFailed, invalid
from config.client_address import client_address
from config.text import clean_text
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from forms_app.validation import check_values
from submissions.receiving import captchas, proof_of_work
from submissions.receiving.insert import Stored, find_earlier, store, store_once
from submissions.receiving.key_and_form import FoundForm
from submissions.receiving.parse_body import Intake
from submissions.receiving.spam import spam_reasons

MAX_IDEMPOTENCY_KEY = 255
MAX_META = {"userAgent": 512, "origin": 300, "referer": 2048}  # characters kept
_PRINTABLE = frozenset(string.printable) - frozenset(string.whitespace) | {" "}


@dataclasses.dataclass(frozen=True, slots=True)
class Circumstances:
    """
    How a submission came: `raw_body` and `key` make retries safe, `is_from_page` asks for proofs of the form's choice.

    `opened_for`: seconds that our own page was open, where it was ours.
    """

    request: HttpRequest
    raw_body: bytes
    key: str | None
    is_from_page: bool
    opened_for: float | None = None


def idempotency_key(request: HttpRequest) -> str | None:
    """Return the header's value, or None. Raises ValidationFailed."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and (not 0 < len(key) <= MAX_IDEMPOTENCY_KEY or not _PRINTABLE.issuperset(key)):
        message = f"must be 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters."
        raise invalid("Idempotency-Key", "invalid", message)
    return key


def accept(form: FoundForm, intake: Intake, came: Circumstances) -> Stored:
    """Store a submission. Raises an ApiError when the form does not take it."""
    try:
        check_acceptable(form, intake)
        doubts = list(_check_human(form.spam_protection, intake, came)) if came.is_from_page else []
    except ApiError:
        earlier = find_earlier(form.id, key=came.key, raw_body=came.raw_body) if came.key else None
        if earlier is None:
            raise
        return earlier
    declared = [field["name"] for field in form.fields]
    reasons = spam_reasons(intake, form.spam_protection, declared=declared, opened_for=came.opened_for)
    judged = dataclasses.replace(intake, spam_reasons=[*reasons, *doubts])
    meta = request_meta(came.request)
    if came.key is None:
        return store(form, judged, meta)
    return store_once(form, judged, meta, key=came.key, raw_body=came.raw_body)


def check_acceptable(form: FoundForm, intake: Intake) -> None:
    """Raise when the form takes nothing now, or not these values."""
    if form.status != Form.Status.PUBLISHED:
        raise FormNotPublished
    if not intake.values:
        raise EmptySubmission
    problems = list(check_values(form.fields, intake.values, intake.lists)) if form.fields else []
    if problems:
        raise ValidationFailed(problems)


def _check_human(protection: SpamProtection, intake: Intake, came: Circumstances) -> Iterator[str]:
    """Raise unless the proofs that the form asks for are there. Yields why it may be spam all the same."""
    if protection.captcha and protection.captcha_secret:
        provider = captchas.PROVIDERS[captchas.Captcha(protection.captcha)]
        token, address = intake.proofs.get(provider.field, ""), client_address(came.request)
        verdict = captchas.check_token(provider, token, secret=protection.captcha_secret, address=address)
        if verdict == "refused":
            message = "Please show that you are not a robot, then send again."
            raise invalid(provider.field, "captcha_required", message, has_subject=True)
        if verdict == "unknown":  # nothing is lost, and nobody is mailed what may be from a robot
            yield f"not checked: {captchas.Captcha(protection.captcha).label} did not answer"
    if protection.proof_of_work:
        proofs = (intake.proofs.get(name) for name in (proof_of_work.FIELD, proof_of_work.WIDGET_FIELD))
        proof_of_work.require_proof(next(filter(None, proofs), ""), used_by=came.key or "")


def request_meta(request: HttpRequest) -> dict[str, str | None]:
    """Return what is kept of the request itself: `{ip, userAgent, origin, referer}`."""
    headers = {"userAgent": "HTTP_USER_AGENT", "origin": "HTTP_ORIGIN", "referer": "HTTP_REFERER"}
    meta: dict[str, str | None] = {"ip": client_address(request)}
    for name, header in headers.items():
        meta[name] = clean_text(request.META.get(header, ""))[: MAX_META[name]] or None
    return meta
