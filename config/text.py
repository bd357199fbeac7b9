"""One function that makes received text storable, the same on SQLite and PostgreSQL (RELIABILITY, "text")."""

import re
import unicodedata

# Composed or not, no name may be as long (200 characters are the most, and one decomposes into 4), and normalizing
# sorts accents in quadratic time: a body full of them would take a minute.
LONGEST_NAME = 800  # characters

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(value: str) -> str:
    """
    Return `value` without U+0000 and with each lone surrogate as U+FFFD.

    PostgreSQL refuses both and SQLite takes them; JSON can carry both as escapes.
    """
    if value.isascii():  # most values: two fast scans instead of four
        return value.replace("\0", "") if "\0" in value else value
    return _LONE_SURROGATE.sub("\ufffd", value.replace("\0", ""))


def clean_name(value: str) -> str:
    """Return a cleaned name in Unicode's composed form (NFC), so that one name has one spelling."""
    value = clean_text(value)
    if value.isascii() or len(value) > LONGEST_NAME:
        return value
    return unicodedata.normalize("NFC", value)
