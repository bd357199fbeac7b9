"""Cleans received text, so that SQLite and PostgreSQL store the same (docs/contract.md 5)."""

import re
import unicodedata

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
