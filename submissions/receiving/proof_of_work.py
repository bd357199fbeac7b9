"""
Proof of work by ALTCHA, version 2 of its protocol, hosted by ourselves: https://altcha.org/docs/v2/

A challenge is signed, not stored, and valid for one submission: a solution is remembered until it expires, with the
form and the idempotency key that it came with, so that a retry of the same request passes, and nothing else. Its signed
data name the form, or the page, that it is for. Those of older builds of forms.js name none and hold for any form.
"""

import hashlib
import secrets
import time
from collections.abc import Collection, Mapping
from typing import Any

import altcha
from django.conf import settings
from django.core.cache import cache

from config.api.errors import invalid

ALGORITHM = "SHA-256"
GOOD_FOR = 600  # seconds between challenge and submission
FIELD = "_altcha"
WIDGET_FIELD = "altcha"  # the name that ALTCHA's own widget gives its input
MAX_PAYLOAD = 4096  # characters; a solved challenge has about 600
MAX_PURPOSE = 64  # characters; longer than the id of a form
PURPOSE = "formId"  # in the signed data, and in the address of the challenge


def new_challenge(purpose: str) -> dict[str, Any]:
    """
    Return `{parameters, signature}`: find the counter whose hash begins with the prefix.

    `purpose`: the id of the form that it is for, or the name of a page; "" for any form.
    """
    most: int = settings.PROOF_OF_WORK_HASHES
    counter = most // 2 + secrets.randbelow(most // 2 + 1)  # a minimum of work, and a bound on it
    expires_at = int(time.time()) + GOOD_FOR
    data = {PURPOSE: purpose[:MAX_PURPOSE]} if purpose else None
    made = altcha.create_challenge(
        ALGORITHM, 1, counter=counter, expires_at=expires_at, data=data, hmac_secret=_secret()
    )
    return made.to_dict()


def require_proof(proofs: Mapping[str, str], *, purposes: Collection[str], used_by: str) -> None:
    """
    Raise ValidationFailed unless a proof solves a challenge of ours for one of `purposes` that is not used yet.

    `used_by`: the form and the idempotency key of the request, which may use it again; "" for none.
    """
    key, user = _key_of(_solved(proofs, purposes)), used_by or secrets.token_hex(8)
    if not cache.add(key, user, GOOD_FOR) and cache.get(key) != user:
        raise _refusal("This proof of work was used before. Solve a new challenge")


def require_proof_of_upload(proofs: Mapping[str, str], *, purposes: Collection[str], most: int) -> None:
    """
    Raise ValidationFailed unless a proof solves a challenge as for `require_proof`; it allows `most` files.

    It can be used for a submission afterwards: a visitor solves one challenge for the files and the form.
    """
    key = _key_of(_solved(proofs, purposes))
    if cache.get(key) is not None or uses_of(f"{key} uploads", GOOD_FOR) > most:
        raise _refusal("This proof of work was used before. Solve a new challenge")


def uses_of(key: str, seconds: int) -> int:
    """Count a use of `key` and return how many there were, this one included, in the time since the first."""
    if cache.add(key, 1, seconds):
        return 1
    try:
        return int(cache.incr(key))
    except ValueError:  # it has just expired
        return 1


def _solved(proofs: Mapping[str, str], purposes: Collection[str]) -> altcha.Challenge:
    """Return the challenge of ours that a proof solves. Raises ValidationFailed."""
    payload = proofs.get(FIELD) or proofs.get(WIDGET_FIELD) or ""
    if not payload:
        raise _refusal("This form requires a proof of work. GET /f/challenge, solve it")
    if len(payload) > MAX_PAYLOAD or not altcha.verify_solution(payload, _secret()).verified:
        raise _refusal("The proof of work is wrong or has expired. Solve a new challenge")
    challenge = altcha.Payload.from_base64(payload).challenge
    if (challenge.parameters.data or {}).get(PURPOSE, "") not in purposes:
        raise _refusal("This proof of work is for another form. Solve one for this form")
    return challenge


def _refusal(problem: str) -> Exception:
    message = f"{problem} and send the solution as {FIELD}."
    return invalid(FIELD, "proof_of_work_required", message, has_subject=True)


def _key_of(challenge: altcha.Challenge) -> str:
    # By the signature, not by the payload's text: the same JSON can be written in many ways.
    return f"proof-of-work {hashlib.sha256((challenge.signature or '').encode()).hexdigest()}"


def _secret() -> str:
    return f"proof-of-work {settings.SECRET_KEY}"
