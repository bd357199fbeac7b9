"""
Finds a form's blocked words and phrases in all values, in one pass: 200 searches of 256 KiB would take seconds.

A word counts in any case, and only if no letter, digit or `_` touches it on either side. This is the algorithm of Aho
and Corasick (1975), over pieces of text instead of characters.
"""

import dataclasses
import re
from collections import deque
from collections.abc import Mapping
from functools import lru_cache

# A run of word characters, one other character, or the empty place between two others or at an edge next to one. So a
# phrase that begins or ends with another character, such as "$$$", begins or ends with an empty piece.
_PIECE = re.compile(r"(?<!\w)(?!\w)|\w+|\W")
_FORMS_REMEMBERED = 8  # each at most 15 MB: 200 phrases of 100 characters


@dataclasses.dataclass(slots=True)
class _State:
    """
    The pieces read so far begin a phrase.

    `after`: the state for each next piece. `shorter`: the state of the longest proper suffix that begins a phrase.
    `ends`: the number of the phrase that is complete here. `shorter_end`: the nearest shorter state with `ends`.
    """

    after: dict[str, "_State"] = dataclasses.field(default_factory=dict)
    shorter: "_State | None" = None
    ends: int | None = None
    shorter_end: "_State | None" = None


def find_blocked_words(values: Mapping[str, str], words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each word that occurs and the first field with it, in the order of `words`."""
    start = _automaton(words)
    found: dict[int, str] = {}
    for name, value in values.items():
        _search(start, value, name, found)
    return [(words[number], found[number]) for number in sorted(found)]


def _search(start: _State, text: str, name: str, found: dict[int, str]) -> None:
    state = start
    for piece in _PIECE.findall(text.casefold()):
        while piece not in state.after and state.shorter is not None:
            state = state.shorter
        state = state.after.get(piece, start)
        end = state if state.ends is not None else state.shorter_end
        # If a phrase was found before, so were the shorter ones at its end.
        while end is not None and end.ends is not None and end.ends not in found:
            found[end.ends] = name
            end = end.shorter_end


@lru_cache(_FORMS_REMEMBERED)
def _automaton(words: tuple[str, ...]) -> _State:
    start = _State()
    for number, word in enumerate(words):
        state = start
        for piece in _PIECE.findall(word.casefold()):
            state = state.after.setdefault(piece, _State())
        if state.ends is None:  # else another case of a word before it
            state.ends = number
    todo = deque([start])
    while todo:  # by length, so that shorter states are complete
        state = todo.popleft()
        for piece, following in state.after.items():
            shorter = state.shorter
            while shorter is not None and piece not in shorter.after:
                shorter = shorter.shorter
            following.shorter = start if shorter is None else shorter.after[piece]
            end = following.shorter
            following.shorter_end = end if end.ends is not None else end.shorter_end
            todo.append(following)
    return start
