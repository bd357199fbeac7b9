"""Processor time of a call, compared with that of a harmless input of the same size."""

import functools
import gc
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

SIZE = 256 * 1024  # characters: the largest body
FIRST_PART = 16  # of a size: a pattern that takes minutes for all of it is found with the first sixteenth
MOST = 10  # times the harmless one's cost
TRIES = 5
MOST_TRIES = 25  # of an input that seems too expensive: the machine may have been busy
PLAIN = re.compile(r"\w+")  # finding the words of a text: the least that reading it costs
Call = Callable[[Any], object]


def fill(*pieces: str, size: int = SIZE) -> str:
    """Return the pieces repeated up to a size, the last repetition cut."""
    piece = "".join(pieces)
    return (piece * (size // len(piece) + 1))[:size]


def hostile_texts(pieces: Sequence[str], size: int) -> Iterator[str]:
    """Yield texts that make a pattern try again: repeats, almost-matches, one piece before many others."""
    for one in pieces:
        yield fill(one, size=size)
        yield fill(one, size=size - 2) + "\x01!"
    for one in pieces:
        for other in pieces:
            if one != other:
                yield one + fill(other, size=size - len(one) - 1) + "\x01"
                yield fill(one, other, size=size - 1) + "\x01"
                yield fill(one, size=size // 2) + fill(other, size=size // 2)


def cost(call: Call, given: Any) -> float:
    """Return the processor seconds of one call in this thread. An error that refuses the input is a result."""
    was_on = gc.isenabled()
    gc.disable()
    started = time.thread_time()
    try:
        call(given)
    except Exception as error:  # any refusal will do: other tests say which
        del error
    finally:
        seconds = time.thread_time() - started
        if was_on:
            gc.enable()
    return seconds


def reading(size: int, tries: int) -> float:
    """Return the seconds that finding the words of so many characters takes, the least of some tries."""
    text = fill("a sentence ", size=size)
    return min(cost(PLAIN.findall, text) for _ in range(tries))


@functools.cache
def always_allowed(size: int) -> float:
    """Return the seconds that every hostile input may cost, whatever the harmless one does; measured once."""
    return MOST * reading(size, MOST_TRIES)


def allowed(call: Call, harmless: Any, size: int) -> float:
    """Return the seconds that a hostile input may cost: ten times those of a harmless one, or of finding words."""
    return MOST * max(reading(size, TRIES), min(cost(call, harmless) for _ in range(TRIES)))


def too_expensive(
    call: Call, harmless: Any, hostile: Callable[[int], Iterable[Any]], most_characters: int = SIZE
) -> str:
    """
    Return a description of the first input that costs more than its size; "" for none.

    `hostile` returns the inputs of a size; `harmless` is one of `most_characters`. Each gets some tries, since another
    program can disturb one. The harmless input is tried only when one costs more than is allowed in any case.
    """
    most = always_allowed(most_characters)
    cost(call, harmless)  # the first call may import something
    is_least = True
    for size in (most_characters // FIRST_PART, most_characters):
        for given in hostile(size):
            seconds = cost(call, given)
            if seconds > most and is_least:
                most, is_least = max(most, allowed(call, harmless, most_characters)), False
            tries = 1
            while seconds > most and tries < MOST_TRIES and seconds < 20 * most:
                seconds = min(seconds, cost(call, given))
                tries += 1
            if seconds > most:
                return f"{size:,} of {given[:40]!r}…{given[-10:]!r}: {seconds:.3f} s, and {most:.3f} s are allowed"
    return ""
