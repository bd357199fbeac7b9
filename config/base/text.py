"""Cleans received text, so that SQLite and PostgreSQL store the same (docs/contract.md 5)."""

import re
import unicodedata

from django.utils.translation import gettext

# Longer texts are not normalized: no valid name is as long (at most 200 characters, each of which decomposes into up to
# 4), and normalizing sorts accents in quadratic time: a body full of them would take a minute.
LONGEST_NAME = 800  # characters

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(value: str) -> str:
    """
    Return `value` without U+0000 and with each lone surrogate replaced by U+FFFD.

    PostgreSQL rejects both, SQLite stores them, and JSON can contain both as escapes.
    """
    if value.isascii():  # most values: two fast scans instead of four
        return value.replace("\0", "") if "\0" in value else value
    return _LONE_SURROGATE.sub("\ufffd", value.replace("\0", ""))


def clean_name(value: str) -> str:
    """Return a cleaned name in Unicode's composed form (NFC), so that each name has a single spelling."""
    value = clean_text(value)
    if value.isascii() or len(value) > LONGEST_NAME:
        return value
    return unicodedata.normalize("NFC", value)


# A dot between a letter or digit and two letters: every top-level domain has two letters or more. The other dots are
# those that browsers read as one (IDNA). Both patterns match a fixed number of characters, so each is linear.
_IN_A_HOST = re.compile(r"[^\W_][.\u3002\uff0e\uff61][^\W\d_]{2}")
_PART_OF_A_LETTER = frozenset({"Mn", "Mc", "Me", "Cf"})  # Unicode categories: marks, and what nobody sees
SHOWN_OF_A_NAME = 80  # characters, in mails to strangers and on their pages
_ADDRESS = re.compile(r"://|\bwww[.\u3002\uff0e\uff61]", re.IGNORECASE)


def holds_web_address(text: str) -> bool:
    """Return whether a mail program would make a link of a part of the text, such as `evil.example/claim`."""
    if not text.isascii():  # neither ends a host's name: a vowel sign of Hindi, a soft hyphen
        text = "".join(one for one in text if unicodedata.category(one) not in _PART_OF_A_LETTER)
    return bool(_ADDRESS.search(text) or _IN_A_HOST.search(text))


def refuse_web_address(name: str) -> None:
    """Raise ValueError for a name that holds a web address: it is shown in mails to strangers."""
    if holds_web_address(name):
        raise ValueError(
            gettext("A name cannot hold a web address. Leave the address out, or put a blank after each dot.")
        )


def name_for_strangers(name: str, instead: str) -> str:
    """Return a name as mails to strangers show it: `instead` if it holds a web address, as older names may."""
    return instead if holds_web_address(name) else name
