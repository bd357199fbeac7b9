"""
Files of settings: `DATA_DIR/env`, and the file of `manage.py --env-file FILE`.

Read as systemd reads an EnvironmentFile, so that a command has the settings of the running service. Docker's --env-file
agrees where a value has no quotes and no backslashes. Unlike a shell, neither gives `&`, `$`, `#` or blanks a meaning.
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#EnvironmentFile=
"""

import re
from collections.abc import MutableMapping, Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

OPTION = "--env-file"
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*(?:=(.*))?", re.ASCII)
_PART = re.compile(r"""\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|((?:[^\s'"\\]|\\.)(?:[^\\]|\\.)*))""")


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file of `NAME=value` lines. Raises ImproperlyConfigured; messages quote no values."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors of Windows write a byte order mark
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ImproperlyConfigured(f"{path} is not UTF-8 text.") from None
    found: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        assignment = _ASSIGNMENT.fullmatch(stripped)
        if assignment is None:
            raise ImproperlyConfigured(f"{path}, line {number}: write it as NAME=value.")
        name, value = assignment.groups()
        if value is not None:  # Docker takes a bare name from the environment, where it is already
            try:
                found[name] = unquote(value.strip())
            except ValueError as error:
                raise ImproperlyConfigured(f"{path}, line {number}: {error}") from None
    return found


def unquote(text: str) -> str:
    """
    Return a value without its quotes and escapes. Quotes inside of an unquoted value are characters.

    Raises ValueError for a quote that is not closed, and for a backslash at the end, which would join the next line.
    """
    parts, place = [], 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None:
            raise ValueError("a quote is not closed, or a backslash is at the end. Write each value on one line.")
        single, double, plain = found.groups()
        if single is not None:
            parts.append(single)
        elif double is not None:
            parts.append(re.sub(r'\\(["\\`$])', r"\1", double))
        else:
            parts.append(re.sub(r"\\(.)", r"\1", plain))
        place = found.end()
    return "".join(parts)


def take_env_file(arguments: Sequence[str], environment: MutableMapping[str, str]) -> list[str]:
    """
    Return a command line of `manage.py` without `--env-file FILE`, whose variables are then in `environment`.

    They win, as in systemd: a variable that a shell has left behind must not lead to another database.
    """
    program, *rest = arguments
    if not rest or rest[0].partition("=")[0] != OPTION:
        return [program, *rest]
    first, *rest = rest
    _, is_joined, name = first.partition("=")
    if not is_joined:
        name, *rest = rest or [""]
    if not name:
        raise ImproperlyConfigured(f"{OPTION} needs a file: manage.py {OPTION} FILE COMMAND")
    environment.update(read_env_file(Path(name)))
    return [program, *rest]
