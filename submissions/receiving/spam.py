"""
Spam rules. Pure: the intake, the form's settings, how long the page was open -> reasons that people can read.

Spam is answered like success, stored with its reasons and not delivered (docs/contract.md 5.14).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Set

from config.api.errors import Detail, ValidationFailed
from forms_app.spam_protection import SpamProtection
from submissions.receiving.blocked_words import find_blocked_words
from submissions.receiving.parse_body import Intake

# The honeypots of other services' snippets. Unlike `_gotcha` these are data too, so a form may declare such a field.
HONEYPOT_ALIASES = ("_honey", "botcheck", "bot-field", "honeypot")
_LINK = re.compile(r"https?://|\bwww\.", re.IGNORECASE)


class SentTooFast(ValidationFailed):
    """A submission that only its speed makes suspicious. Browsers fill in forms, too, so the visitor sends it again."""

    def __init__(self) -> None:
        message = "It was sent sooner after the page was opened than people type. Send it again."
        super().__init__([Detail("", "too_fast", message, has_subject=True)])


def spam_reasons(
    intake: Intake, protection: SpamProtection, *, declared: Iterable[str], opened_for: float | None
) -> list[str]:
    """
    Return every reason why a submission is spam; none for a good one. Raises SentTooFast if there is no other.

    `declared`: the names of the form's fields. `opened_for`: seconds for which our own page was open, if it was.
    """
    reasons = [*_by_content(intake, protection, set(declared))]
    if opened_for is not None and opened_for < protection.minimum_seconds:
        if not reasons:
            raise SentTooFast
        reasons.append(f"too fast: sent {max(opened_for, 0):.1f} s after the page was opened")
    return reasons


def _by_content(intake: Intake, protection: SpamProtection, declared: Set[str]) -> Iterator[str]:
    yield from intake.spam_reasons
    yield from _honeypots(intake.values, declared)
    if protection.max_links is not None:
        links = sum(len(_LINK.findall(value)) for value in intake.values.values())
        if links > protection.max_links:
            yield f"links: {links}, and this form takes {protection.max_links}"
    words = protection.blocked_words
    found = find_blocked_words(intake.values, words) if words else []
    yield from (f'word: "{word}" in {name}' for word, name in found)


def _honeypots(values: Mapping[str, str], declared: Set[str]) -> Iterator[str]:
    for name in HONEYPOT_ALIASES:
        filled = values.get(name, "").strip().lower()
        if filled not in ("", "false") and name not in declared:  # `false`: an unchecked box, sent as JSON
            yield f"honeypot: {name} was filled in"
