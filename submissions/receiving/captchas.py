"""
Cloudflare Turnstile and hCaptcha behind one small interface. Off until a form's owner sets a site key and a secret.

Both use the protocol of reCAPTCHA: POST secret and token, get `{"success": bool}`.
https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ and https://docs.hcaptcha.com/
"""

import dataclasses
import hashlib
import json
import logging
import uuid
from collections.abc import Mapping
from typing import Literal

import urllib3
from django.conf import settings
from django.core.cache import cache

from config.api.errors import invalid
from forms_app.spam_protection import Captcha, SpamProtection
from submissions.receiving.proof_of_work import uses_of

PATIENCE = urllib3.Timeout(connect=2.0, read=3.0)  # seconds; a web thread waits for it
REMEMBERED = 600  # seconds for which a token that was checked with a file is good for the form's submission
MAX_TOKEN = 8192  # characters; Turnstile's have at most 2,048
logger = logging.getLogger(__name__)
_http = urllib3.PoolManager(maxsize=4)
Verdict = Literal["passed", "refused", "unknown"]


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """
    One service: the field that its widget fills in, the widget's script and class, the sources for a page's CSP.

    `setting`: the setting that holds the URL for checking tokens.
    """

    field: str
    script: str
    css_class: str
    sources: str
    setting: str


PROVIDERS = {
    Captcha.TURNSTILE: Provider(
        field="cf-turnstile-response",
        script="https://challenges.cloudflare.com/turnstile/v0/api.js",
        css_class="cf-turnstile",
        sources="https://challenges.cloudflare.com",
        setting="TURNSTILE_VERIFY_URL",
    ),
    Captcha.HCAPTCHA: Provider(
        field="h-captcha-response",
        script="https://js.hcaptcha.com/1/api.js",
        css_class="h-captcha",
        sources="https://hcaptcha.com https://*.hcaptcha.com",
        setting="HCAPTCHA_VERIFY_URL",
    ),
}


def require_pass(
    protection: SpamProtection, proofs: Mapping[str, str], *, form_id: uuid.UUID, address: str
) -> tuple[str, ...]:
    """
    Raise ValidationFailed unless the form's captcha was passed; `address` is the visitor's IP.

    A token that was checked with the form's files is not checked again: services check each one once.

    Returns reasons why it may be spam anyway: if the service does not answer, the submission is stored as spam, so that
    none is lost and no mail is sent for a robot.
    """
    captcha = Captcha(protection.captcha)
    provider = PROVIDERS[captcha]
    token = proofs.get(provider.field, "")
    if token and cache.delete(_key_of(token, form_id)):  # good for one submission
        return ()
    verdict = check_token(provider, token, secret=protection.captcha_secret, address=address)
    if verdict == "refused":
        raise _refusal(provider)
    return (f"not checked: {captcha.label} did not answer",) if verdict == "unknown" else ()


def require_pass_of_upload(
    protection: SpamProtection, proofs: Mapping[str, str], *, form_id: uuid.UUID, address: str, most: int
) -> None:
    """
    Raise ValidationFailed unless the form's captcha was passed. A token allows `most` files, then one submission.

    If the service does not answer, the file is taken: it goes again unless a submission uses it.
    """
    provider = PROVIDERS[Captcha(protection.captcha)]
    token = proofs.get(provider.field, "")
    key = _key_of(token, form_id)
    if token and cache.get(key) is not None:
        if uses_of(f"{key} uploads", REMEMBERED) > most:
            raise _refusal(provider)
        return
    verdict = check_token(provider, token, secret=protection.captcha_secret, address=address)
    if verdict == "refused":
        raise _refusal(provider)
    if verdict == "passed":
        uses_of(f"{key} uploads", REMEMBERED)
        cache.set(key, 1, REMEMBERED)


def _refusal(provider: Provider) -> Exception:
    message = "Please show that you are not a robot, then send again."
    return invalid(provider.field, "captcha_required", message, has_subject=True)


def _key_of(token: str, form_id: uuid.UUID) -> str:
    return f"captcha {form_id} {hashlib.sha256(token.encode()).hexdigest()}"


def check_token(provider: Provider, token: str, *, secret: str, address: str) -> Verdict:
    """
    Ask the service about a token; `address` is the visitor's IP.

    `unknown` if it does not answer or rejects the secret: neither is the visitor's fault.
    """
    if not 0 < len(token) <= MAX_TOKEN:
        return "refused"
    fields = {"secret": secret, "response": token, "remoteip": address}
    url = getattr(settings, provider.setting)
    try:
        answer = _http.request("POST", url, fields=fields, encode_multipart=False, timeout=PATIENCE, retries=False)
        found = json.loads(answer.data)
        passed, errors = found.get("success") is True, found.get("error-codes") or []
    except (urllib3.exceptions.HTTPError, ValueError, AttributeError) as error:
        logger.warning("captcha not checked by %s: %s", url, error)
        return "unknown"
    if passed:
        return "passed"
    ours = any("secret" in str(code) or code == "internal-error" for code in errors)
    return "unknown" if ours else "refused"
