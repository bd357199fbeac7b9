"""A file of a request, before it is checked and stored."""

import dataclasses
from typing import IO


@dataclasses.dataclass(frozen=True, slots=True)
class Arrived:
    """
    A file of a request, not checked yet.

    `field`: the name of its input. `name`: its file name, cleaned. `sha256`: hexadecimal. `content`: an unnamed
    temporary file at position 0.
    """

    field: str
    name: str
    size: int
    sha256: str
    content: IO[bytes]
