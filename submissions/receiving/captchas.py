"""
Cloudflare Turnstile and hCaptcha behind one small interface. Off until a form's owner sets a site key and a secret.

Both use the protocol of reCAPTCHA: POST secret and token, get `{"success": bool}`.
https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ and https://docs.hcaptcha.com/
"""

import dataclasses
import json
import logging
from collections.abc import Mapping
from typing import Literal

import urllib3
from django.conf import settings

from config.api.errors import invalid
from forms_app.spam_protection import Captcha, SpamProtection

PATIENCE = urllib3.Timeout(connect=2.0, read=3.0)  # seconds; a web thread waits for it
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


def require_pass(protection: SpamProtection, proofs: Mapping[str, str], *, address: str) -> tuple[str, ...]:
    """
    Raise ValidationFailed unless the form's captcha was passed; `address` is the visitor's IP.

    Returns reasons why it may be spam anyway: if the service does not answer, the submission is stored as spam, so that
    none is lost and no mail is sent for a robot.
    """
    captcha = Captcha(protection.captcha)
    provider = PROVIDERS[captcha]
    token = proofs.get(provider.field, "")
    verdict = check_token(provider, token, secret=protection.captcha_secret, address=address)
    if verdict == "refused":
        message = "Please show that you are not a robot, then send again."
        raise invalid(provider.field, "captcha_required", message, has_subject=True)
    return (f"not checked: {captcha.label} did not answer",) if verdict == "unknown" else ()


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
