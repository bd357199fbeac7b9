"""
Cloudflare Turnstile and hCaptcha behind one small interface. Off until a form's owner sets a site key and a secret.

Both use the protocol of reCAPTCHA: POST secret and token, get `{"success": bool}`.
https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ and https://docs.hcaptcha.com/
"""

import dataclasses
import hashlib
import json
import logging
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache

import urllib3
from django.conf import settings
from django.core.cache import cache

from config.api.errors import invalid
from forms_app.spam_protection import Captcha, SpamProtection
from submissions.receiving.proof_of_work import uses_of

PATIENCE = urllib3.Timeout(connect=2.0, read=3.0)  # seconds; a web thread waits for it
AT_ONCE = 4  # checks of a process; a web process has twice as many threads
PATIENCE_FOR_A_PLACE = 3.0  # seconds
UNANSWERED = 2  # checks in a row; then one at a time asks
ALONE_SECONDS = 30.0
REMEMBERED = 600  # seconds for which a token that was checked is good for the same submission again, or after its files
FAILED_TEST = "test-fail"  # the token of a test submission that is to fail
MAX_TOKEN = 8192  # characters; Turnstile's have at most 2,048
logger = logging.getLogger(__name__)
_http = urllib3.PoolManager(maxsize=AT_ONCE)
_places = threading.BoundedSemaphore(AT_ONCE)


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


class Service:
    """
    Asks one service. One that does not answer must not hold the threads that all forms share.

    AT_ONCE checks of a process ask at the same time; another waits for its place, and goes unanswered without one.
    After UNANSWERED checks in a row one at a time asks, for ALONE_SECONDS after the last of them.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._alone = threading.Lock()
        self._unanswered = 0
        self._alone_until = 0.0

    def ask(self, fields: Mapping[str, str]) -> bytes | None:
        """Return the body of the answer, None without one."""
        if (self._is_doubted() and self._alone.locked()) or not _places.acquire(timeout=PATIENCE_FOR_A_PLACE):
            return None
        with ExitStack() as held:
            held.callback(_places.release)
            if self._is_doubted():  # perhaps since it waits
                if not self._alone.acquire(blocking=False):
                    return None
                held.callback(self._alone.release)
            return self._post(fields)

    def _is_doubted(self) -> bool:
        return self._unanswered >= UNANSWERED and time.monotonic() < self._alone_until

    def _post(self, fields: Mapping[str, str]) -> bytes | None:
        try:
            answer = _http.request(
                "POST", self._url, fields=fields, encode_multipart=False, timeout=PATIENCE, retries=False
            )
        except urllib3.exceptions.HTTPError as error:
            logger.warning("captcha not checked by %s: %s", self._url, error)
            self._alone_until = time.monotonic() + ALONE_SECONDS
            self._unanswered += 1
            return None
        self._unanswered = 0
        return answer.data


_service_at = lru_cache(Service)  # one of each URL, for the process


def require_pass(
    protection: SpamProtection, proofs: Mapping[str, str], *, form_id: uuid.UUID, address: str, used_by: str = ""
) -> tuple[str, ...]:
    """
    Raise ValidationFailed unless the form's captcha was passed; `address` is the visitor's IP.

    Services check a token once. One that was checked with the form's files is not checked again, and neither is one
    that came with the same idempotency key, `used_by`, before: its submission was not stored then.

    Returns reasons why it may be spam anyway: if the service does not answer, the submission is stored as spam, so that
    none is lost and no mail is sent for a robot.
    """
    captcha = Captcha(protection.captcha)
    provider = PROVIDERS[captcha]
    token = proofs.get(provider.field, "")
    again = _key_of(token, form_id, used_by)
    if token and used_by and cache.get(again) is not None:
        return ()
    is_kept = token and cache.delete(_key_of(token, form_id))  # good for one submission
    if not is_kept and not _is_accepted(provider, token, secret=protection.captcha_secret, address=address):
        return (f"not checked: {captcha.label} did not answer",)
    if used_by:
        cache.set(again, 1, REMEMBERED)
    return ()


def refuse_failed_test(protection: SpamProtection, proofs: Mapping[str, str]) -> None:
    """Raise ValidationFailed for a test submission that says that its captcha failed. No service is asked."""
    provider = PROVIDERS[Captcha(protection.captcha)]
    if proofs.get(provider.field) == FAILED_TEST:
        raise _refusal(provider)


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
        if uses_of(f"{key}-uploads", REMEMBERED) > most:
            raise _refusal(provider)
        return
    if _is_accepted(provider, token, secret=protection.captcha_secret, address=address):
        uses_of(f"{key}-uploads", REMEMBERED)
        cache.set(key, 1, REMEMBERED)


def _refusal(provider: Provider) -> Exception:
    message = "Please show that you are not a robot, then send again."
    return invalid(provider.field, "captcha_required", message, has_subject=True)


def _key_of(token: str, form_id: uuid.UUID, used_by: str = "") -> str:
    parts = f"{token}\n{used_by}" if used_by else token
    return f"captcha-{form_id}-{hashlib.sha256(parts.encode()).hexdigest()}"


def _is_accepted(provider: Provider, token: str, *, secret: str, address: str) -> bool:
    """
    Return whether the service accepts a token; `address` is the visitor's IP. Raises ValidationFailed if it refuses.

    False if it does not answer, is not asked because it did not answer others, or rejects the secret: none of these is
    the visitor's fault.
    """
    if not 0 < len(token) <= MAX_TOKEN:
        raise _refusal(provider)
    url = getattr(settings, provider.setting)
    answer = _service_at(url).ask({"secret": secret, "response": token, "remoteip": address})
    if answer is None:
        return False
    try:
        found = json.loads(answer)
        passed, errors = found.get("success") is True, found.get("error-codes") or []
    except (ValueError, AttributeError) as error:
        logger.warning("captcha not checked by %s: %s", url, error)
        return False
    if not passed and not any("secret" in str(code) or code == "internal-error" for code in errors):
        raise _refusal(provider)
    return passed
