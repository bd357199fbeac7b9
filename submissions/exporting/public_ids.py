"""Public ids of many rows (`config/ids.py`), some ten times quicker than one by one (docs/adr/0100)."""

from collections.abc import Sequence
from functools import cache

from config.ids import ALPHABET, SUFFIX_LENGTH

# The bits of all ids are one large number, in which an id has 256 bits: 128 zeros, then its own. Each step moves the
# upper half of every group apart from the lower half, until each group of 5 bits has a byte, which is then a letter.
LANE = 32  # bytes of an id
FIRST = LANE - SUFFIX_LENGTH  # bytes before the first of its letters
GAP = bytes(LANE // 2)
MOST = 1024  # ids at a time
# Bits of a group, those of its lower half, and how far its upper half moves. The first step separates the 48 bits of
# the time from the 80 others.
STEPS = ((256, 80, 48), (128, 40, 24), (64, 20, 12), (32, 10, 6), (16, 5, 3))
LETTERS = bytes.maketrans(bytes(range(32)), ALPHABET.encode())


def suffixes(ids: Sequence[bytes]) -> list[bytes]:
    """Return `config.ids.suffix` of each id of 16 bytes, of at most 1,024."""
    number = int.from_bytes(GAP.join(ids), "big")
    for lower, upper, shift in _masks():
        number = (number & upper) << shift | number & lower
    text = number.to_bytes(LANE * len(ids), "big").translate(LETTERS)
    return [text[start : start + SUFFIX_LENGTH] for start in range(FIRST, len(text), LANE)]


@cache
def _masks() -> list[tuple[int, int, int]]:
    """Return for each step the bits of MOST ids that stay, those that move, and how far."""
    found = []
    for size, lower, shift in STEPS:
        groups = MOST * LANE * 8 // size
        ones = int.from_bytes((1).to_bytes(size // 8, "big") * groups, "big")
        stay = ones * ((1 << lower) - 1)
        found.append((stay, stay << lower, shift))
    return found
