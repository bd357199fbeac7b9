"""
The spam protection of a form, in addition to the honeypot, which is always on. Stored as JSON; `{}` is the default.

Rules (links, words, time) mark a submission as spam, without the submitter's knowledge. Proof of work and captchas
reject it.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any, Self

from django.db import models
from django.utils.translation import pgettext_lazy

from config.secrets.encryption import CannotDecrypt, decrypt, encrypt

MINIMUM_SECONDS = 2  # between opening the hosted page and sending it; people need longer, scripts do not
MAX_WORDS = 200  # blocked words per form
logger = logging.getLogger(__name__)


class Captcha(models.TextChoices):
    """Captcha services. Off by default, because they load their code into the page."""

    NONE = "", pgettext_lazy("a captcha", "None")
    TURNSTILE = "turnstile", "Cloudflare Turnstile"
    HCAPTCHA = "hcaptcha", "hCaptcha"


@dataclasses.dataclass(frozen=True, slots=True)
class SpamProtection:
    """
    `captcha_secret` is plain here and encrypted in the stored JSON.

    `minimum_seconds`: spam if sent sooner after the hosted page was opened; 0: off.
    `max_links`: spam if all values together have more links; None: off.
    `blocked_words`: spam if a value contains one of these words or phrases, in any case.
    `proof_of_work`: the submitter's browser must solve a challenge first (ALTCHA).
    `captcha`: the service, with the site key and secret of the account there.
    """

    minimum_seconds: int = MINIMUM_SECONDS
    max_links: int | None = None
    blocked_words: tuple[str, ...] = ()
    proof_of_work: bool = False
    captcha: str = Captcha.NONE
    captcha_site_key: str = ""
    captcha_secret: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        if not stored:
            return cls()
        known = {field.name for field in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        if values.get("captcha_secret"):
            values["captcha_secret"] = _readable(values["captcha_secret"])
        return cls(**{**values, "blocked_words": tuple(values.get("blocked_words", ()))})

    def stored(self) -> dict[str, Any]:
        """Return the JSON to store: settings that differ from the defaults."""
        values, defaults = dataclasses.asdict(self), dataclasses.asdict(type(self)())
        changed = {name: value for name, value in values.items() if value != defaults[name]}
        if self.captcha_secret:
            changed["captcha_secret"] = encrypt(self.captcha_secret)
        return changed | ({"blocked_words": list(self.blocked_words)} if self.blocked_words else {})


def _readable(secret: str) -> str:
    try:
        return decrypt(secret)
    except CannotDecrypt as error:
        logger.error("a captcha secret cannot be read: %s", error)
        return ""  # the captcha service rejects it: the submission is stored as spam, not lost
