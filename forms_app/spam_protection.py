"""
What a form does against spam beside the honeypot, which is always on. Stored on the form as JSON; `{}` is the default.

Rules (links, words, time) mark a submission as spam, which its sender never sees. Proof of work and captchas refuse.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from django.db import models

MINIMUM_SECONDS = 2  # between opening our page and sending it; people need longer, scripts do not
MAX_WORDS = 200  # blocked words of a form


class Captcha(models.TextChoices):
    """Services that check for people. Off by default: they load code of theirs into the page."""

    NONE = "", "None"
    TURNSTILE = "turnstile", "Cloudflare Turnstile"
    HCAPTCHA = "hcaptcha", "hCaptcha"


@dataclasses.dataclass(frozen=True, slots=True)
class SpamProtection:
    """
    `minimum_seconds`: sent faster than this after our page was opened is spam; 0 is off.
    `max_links`: more links than this in all values are spam; None is off.
    `blocked_words`: words and phrases, in any case, that make spam.
    `proof_of_work`: the sender's machine has to compute a while first (ALTCHA).
    `captcha`: a Captcha, with the site's key and secret at that service.
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
        """Return the settings of a form; what it does not say is the default."""
        if not stored:
            return cls()
        known = {field.name for field in dataclasses.fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        return cls(**{**values, "blocked_words": tuple(values.get("blocked_words", ()))})

    def stored(self) -> dict[str, Any]:
        """Return what is stored: only what differs from the defaults."""
        values, defaults = dataclasses.asdict(self), dataclasses.asdict(type(self)())
        changed = {name: value for name, value in values.items() if value != defaults[name]}
        return changed | ({"blocked_words": list(self.blocked_words)} if self.blocked_words else {})
