"""
Passwords judged offline: by an estimate of how many guesses they take, for someone who knows the person and us.

https://github.com/dwolfhub/zxcvbn-python, after Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", 2016.
"""

import re
from collections.abc import Iterable
from threading import Lock
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from keys.models import Organization, User

MIN_GUESSES = 3e9  # ten random letters pass; a word with a year and a sign does not
LONGEST = 72  # characters that are judged: the estimate's time grows with their square
SHORTEST_WORD, MOST_WORDS = 3, 40  # of the words that belong to a person
# Signs that replace letters. The estimator would try all their combinations, which takes seconds for 72 of them.
SIGNS = str.maketrans("@({[<|!$+%", "acccciistx")
ADVICE = gettext_lazy("Use four or more unrelated words, or a password manager.")
# The library's warnings, to be translated.
WARNINGS = (
    gettext_noop("Straight rows of keys are easy to guess."),
    gettext_noop("Short keyboard patterns are easy to guess."),
    gettext_noop('Repeats like "aaa" are easy to guess.'),
    gettext_noop('Repeats like "abcabcabc" are only slightly harder to guess than "abc".'),
    gettext_noop('Sequences like "abc" or "6543" are easy to guess.'),
    gettext_noop("Recent years are easy to guess."),
    gettext_noop("Dates are often easy to guess."),
    gettext_noop("This is a top-10 common password."),
    gettext_noop("This is a top-100 common password."),
    gettext_noop("This is a very common password."),
    gettext_noop("This is similar to a commonly used password."),
    gettext_noop("A word by itself is easy to guess."),
    gettext_noop("Names and surnames by themselves are easy to guess."),
    gettext_noop("Common names and surnames are easy to guess."),
)
_one_at_a_time = Lock()  # the library keeps a person's words in a global


class StrengthValidator:
    """Refuses passwords that are guessed soon. A validator of AUTH_PASSWORD_VALIDATORS."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError, with the reason, for a weak password."""
        refuse_weak(password, words_of(user) if user is not None else [])

    def get_help_text(self) -> str:
        return f"{gettext('Your password must be hard to guess.')} {ADVICE}"


def refuse_weak(password: str, texts: Iterable[str]) -> None:
    """Raise ValidationError for a password that is guessed soon by someone who knows `texts`."""
    from zxcvbn import zxcvbn  # lists of words that take 12 MB, which most processes never need

    known = _words([*texts, "Fieldpost", urlsplit(settings.PUBLIC_URL).hostname or ""])
    with _one_at_a_time:
        judged = zxcvbn(_plain(password)[:LONGEST], user_inputs=known)
    if judged["guesses"] >= MIN_GUESSES:
        return
    if any(part.get("dictionary_name") == "user_inputs" for part in judged["sequence"]):
        reason = gettext("It contains your name or address, or the name of your organization or of this service.")
    else:
        warning = judged["feedback"]["warning"]
        reason = gettext(warning) if warning else gettext("It is short, or made of common parts.")
    refusal = gettext("This password is too easy to guess.")
    raise ValidationError(f"{refusal} {reason} {ADVICE}", code="password_too_weak")


def words_of(user: User) -> list[str]:
    """Return the texts that somebody who knows this person would try: address, name, organizations."""
    if user._state.adding:
        return [user.email, user.name]
    names = Organization.objects.filter(memberships__user=user).values_list("name", flat=True)[:10]
    return [user.email, user.name, *names]


def _words(texts: Iterable[str]) -> list[str]:
    """Return the words of texts, and the texts without their spaces, in lower case."""
    plain = [_plain(text)[:LONGEST].lower() for text in texts]
    words = [re.sub(r"[\W_]+", "", text) for text in plain]
    words += [word for text in plain for word in re.split(r"[\W_]+", text)]
    return list(dict.fromkeys(word for word in words if len(word) >= SHORTEST_WORD))[:MOST_WORDS]


def _plain(text: str) -> str:
    return text.translate(SIGNS)
