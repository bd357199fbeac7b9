"""
Spam rules. Pure: the intake, the form's settings, how long the page was open -> reasons that people can read.

Spam is answered like success, stored with its reasons and not delivered (docs/contract.md 5).
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from forms_app.spam_protection import SpamProtection
from submissions.receiving.blocked_words import find_blocked_words
from submissions.receiving.parse_body import Intake

# The honeypots of other services' snippets. Unlike `_gotcha` these are data too, so a form may declare such a field.
HONEYPOT_ALIASES = ("_honey", "botcheck", "bot-field", "honeypot")
_LINK = re.compile(r"https?://|\bwww\.", re.IGNORECASE)


def spam_reasons(
    intake: Intake, protection: SpamProtection, *, declared: Iterable[str], opened_for: float | None
) -> list[str]:
    """
    Return every reason why a submission is spam; none for a good one.

    `declared`: the names of the form's fields. `opened_for`: seconds for which our own page was open, if it was.
    """
    reasons = list(intake.spam_reasons)
    reasons += _honeypots(intake.values, set(declared))
    if opened_for is not None and opened_for < protection.minimum_seconds:
        reasons.append(f"too fast: sent {max(opened_for, 0):.1f} s after the page was opened")
    if protection.max_links is not None:
        links = sum(len(_LINK.findall(value)) for value in intake.values.values())
        if links > protection.max_links:
            reasons.append(f"links: {links}, and this form takes {protection.max_links}")
    words = protection.blocked_words
    found = find_blocked_words(intake.values, words) if words else []
    return [*reasons, *(f'word: "{word}" in {name}' for word, name in found)]


def _honeypots(values: Mapping[str, str], declared: set[str]) -> Iterator[str]:
    for name in HONEYPOT_ALIASES:
        filled = values.get(name, "").strip().lower()
        if filled not in ("", "false") and name not in declared:  # `false`: an unchecked box, sent as JSON
            yield f"honeypot: {name} was filled in"
