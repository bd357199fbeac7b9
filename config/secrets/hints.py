"""Hints in the place of secrets: they say which one is stored, and nothing that helps to guess it."""

HIDDEN = "…"
HINT_CHARACTERS = 4
SHORTEST_HINTED = 8  # a hint of a shorter secret would be most of it


def hint(secret: str) -> dict[str, str]:
    """Return `{hint}`: an ellipsis and the last four characters."""
    return {"hint": HIDDEN + (secret[-HINT_CHARACTERS:] if len(secret) >= SHORTEST_HINTED else "")}


class Hint(dict[str, str]):
    """A hint that is equal to that of the same secret only: two secrets may end in the same characters."""

    def __init__(self, secret: str) -> None:
        super().__init__(hint(secret))
        self._secret = secret

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hint) and self._secret == other._secret

    def __ne__(self, other: object) -> bool:
        return not self == other
