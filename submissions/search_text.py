"""The text that searches compare: every value of a submission, case-folded equally on both databases."""

VALUE_SEPARATOR = "\x1f"  # U+001F keeps a search from matching across two values
_IN_PLACE_OF_SEPARATOR = "\x1e"


def fold(text: str) -> str:
    """Return a text as searches compare it: equal on both databases, whose own case folding differs."""
    return text.casefold().replace(VALUE_SEPARATOR, _IN_PLACE_OF_SEPARATOR)


def search_text(values: list[str]) -> str:
    return VALUE_SEPARATOR.join(map(fold, values))
