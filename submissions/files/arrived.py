"""A file of a request, before it is stored."""

import dataclasses
from typing import IO


@dataclasses.dataclass(frozen=True, slots=True)
class Arrived:
    """
    A file of a request, not checked yet.

    `field`: the name of its input. `name`: its file name, cleaned; "" if nothing is left of it. `sha256`: hexadecimal.
    `content`: an unnamed temporary file at position 0.
    """

    field: str
    name: str
    size: int
    sha256: str
    content: IO[bytes]


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """A file that passed `check_file`. `content_type`: as its content says."""

    arrived: Arrived
    content_type: str
