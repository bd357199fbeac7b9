"""The checks against spam in a form's document: `spam` of its bodies and of its record (docs/contract.md 4.13)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, gettext_lazy
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.errors import invalid
from config.api.serializers import FlagField, StrictSerializer, TextField, WholeNumberField
from config.secrets.hints import Hint, hint
from forms_app.spam_protection import MAX_WORDS, Captcha, SpamProtection

MAX_SECONDS = 60
MAX_LINKS = 1_000
MAX_WORD = 100  # characters
MAX_CAPTCHA_KEY = 200  # characters of a captcha's site key or secret
SECRET = "spam.secret"  # as details of errors name it  # noqa: S105 - the name of a member
CAPTCHAS = [(one.value, one.label) for one in Captcha if one.value]
TEXTS = {
    "minSeconds": "Spam if it is sent sooner after the form's page was opened; null: never.",
    "maxLinks": "Spam if all values together have more links; null: any number.",
    "blockedWords": "Spam if a value holds one of these words or phrases, in any case.",
    "proofOfWork": "Whether the visitor's browser computes for a moment before it sends.",
    "captcha": "The service whose captcha visitors solve; null: none.",
    "siteKey": "The public key of the account at that service.",
    "secret": "Its secret. Send it as text; it is answered as a hint, which keeps the stored one if it is sent.",
}


@extend_schema_field({"not": {"type": ["array", "boolean", "number"], "items": {}}})
class SecretField(TextField):
    """A secret as text, or the hint of the stored one; "" for none."""

    default_error_messages = {
        "invalid": gettext_lazy('Must be a string, or the hint that was answered: {{"hint": "…"}}')
    }

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, Mapping):
            if data.keys() != {"hint"} or not isinstance(data["hint"], str):
                self.fail("invalid")
            return dict(data)
        return "" if data is None else super().run_validation(data)


class SpamBody(StrictSerializer):
    """Changes of a form's checks against spam. Members that are left out stay as they are."""

    schema_name = "NewFormSpam"
    texts = TEXTS
    minSeconds = WholeNumberField(
        source="minimum_seconds", min_value=0, max_value=MAX_SECONDS, allow_null=True, required=False
    )
    maxLinks = WholeNumberField(source="max_links", min_value=0, max_value=MAX_LINKS, allow_null=True, required=False)
    blockedWords = serializers.ListField(
        source="blocked_words", child=TextField(max_length=MAX_WORD), max_length=MAX_WORDS, required=False
    )
    proofOfWork = FlagField(source="proof_of_work", required=False)
    captcha = serializers.ChoiceField(CAPTCHAS, allow_null=True, required=False)
    siteKey = TextField(
        source="captcha_site_key", max_length=MAX_CAPTCHA_KEY, allow_blank=True, allow_null=True, required=False
    )
    secret = SecretField(source="captcha_secret", max_length=MAX_CAPTCHA_KEY, allow_blank=True, required=False)

    def validate_minSeconds(self, seconds: int | None) -> int:
        return seconds or 0

    def validate_blockedWords(self, words: list[str]) -> tuple[str, ...]:
        """Return each phrase once, as one line, which is how the screen writes them."""
        return tuple(dict.fromkeys(" ".join(word.splitlines()) for word in words))

    def validate_captcha(self, name: str | None) -> str:
        return name or Captcha.NONE.value

    def validate_siteKey(self, key: str | None) -> str:
        return key or ""


class FormSpamRecord(serializers.Serializer[Any]):
    """The checks against spam of a form, besides the honeypot, which is always on."""

    schema_name = "FormSpam"
    texts = TEXTS | {"secret": "The hint of its secret; null for none."}
    minSeconds = serializers.IntegerField(allow_null=True)
    maxLinks = serializers.IntegerField(allow_null=True)
    blockedWords = serializers.ListField(child=serializers.CharField())
    proofOfWork = serializers.BooleanField()
    captcha = serializers.ChoiceField(CAPTCHAS, allow_null=True)
    siteKey = serializers.CharField()
    secret = serializers.DictField(child=serializers.CharField(), allow_null=True)

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of stored settings."""
        found = SpamProtection.of(instance)
        return {
            "minSeconds": found.minimum_seconds or None,
            "maxLinks": found.max_links,
            "blockedWords": list(found.blocked_words),
            "proofOfWork": found.proof_of_work,
            "captcha": found.captcha or None,
            "siteKey": found.captcha_site_key,
            "secret": Hint(found.captcha_secret) if found.captcha_secret else None,
        }


def protect(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the settings to store: the stored ones, changed by what SpamBody has read.

    A secret that is left out, or sent as the hint of the stored one, stays as long as its captcha does. Raises
    ValidationFailed for the hint of another secret, and for a captcha without its site key or its secret.
    """
    before = SpamProtection.of(stored)
    secret = given.get("captcha_secret", hint(before.captcha_secret) if before.captcha_secret else "")
    if isinstance(secret, dict):
        if not before.captcha_secret or secret != hint(before.captcha_secret):
            message = gettext("This is not the hint of the stored secret. Send the secret itself.")
            raise invalid(SECRET, "required", message)
        is_of_it = given.get("captcha", before.captcha) == before.captcha
        secret = before.captcha_secret if is_of_it else ""
    after = dataclasses.replace(before, **{**given, "captcha_secret": secret})
    if after == before:
        return dict(stored)  # encrypted again, it would look like a change
    if after.captcha and not (after.captcha_site_key and after.captcha_secret):
        raise invalid(SECRET, "required", gettext("A captcha needs its site key and its secret."), has_subject=True)
    return after.stored()
