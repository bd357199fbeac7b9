"""Data that others publish to try parsers; `README.md` names the sources and their licences."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def corpus(name: str) -> Any:
    """Return the data of `<name>.json`, which is not empty. Texts of bytes have one character for each (latin-1)."""
    found = json.loads((Path(__file__).parent / f"{name}.json").read_text())
    assert len(found) > 25, name
    return found
