"""
The head of a part of multipart/form-data, as bytes: what its charset is, is known only at the end of the body.

Browsers write a name between quotation marks and encode `"`, CR and LF as `%22`, `%0D` and `%0A`, and nothing else
(https://html.spec.whatwg.org/#multipart-form-data). Older ones and other programs write `\"`, or leave the quotation
mark as it is, so one ends a value only where the parameter ends.
"""

import dataclasses
import html
import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from submissions.parsing.charsets import decode

# The quantifiers take no other match than the longest: each character is read once.
_PARAMETER = re.compile(
    r';[ \t]*+([!#$%&\'*+.^_`|~\w-]++)[ \t]*+=[ \t]*+(?:"((?:[^"]|"(?![ \t]*+(?:;|$)))*+)"|([^\s;"]*+))[ \t]*+',
    re.ASCII,
)
_TYPE = re.compile(r"[ \t]*+form-data[ \t]*+(?=;)", re.IGNORECASE)
_CHARSET = re.compile(r';[ \t]*+charset[ \t]*+=[ \t]*+"?([^\s;"]++)', re.IGNORECASE)
_CONTINUED = re.compile(r"(?:file)?name\*[0-9]")  # in pieces, as in mails (RFC 2231)
_ENCODED = {"%22": '"', "%0D": "\r", "%0A": "\n"}


class BrokenHead(ValueError):
    """A head that names no input, or cannot be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Head:
    """
    The head of a part. `file_name`: None for a text. Names are texts already where their charset is next to them
    (RFC 8187).

    `charset`: a label, or "". `encoding`: its Content-Transfer-Encoding in lower case, or "".
    """

    name: bytes | str
    file_name: bytes | str | None
    charset: str
    encoding: str


def read_head(headers: Mapping[bytes, bytes]) -> Head:
    """Return the head with these headers, whose names are in lower case. Raises BrokenHead."""
    texts = {name: value.decode("latin-1") for name, value in headers.items()}
    parameters = _parameters(texts.get(b"content-disposition", ""))
    name, file_name = _value(parameters, "name"), _value(parameters, "filename")
    if name is None or any(_CONTINUED.match(key) for key in parameters):
        raise BrokenHead
    charset = _CHARSET.search(texts.get(b"content-type", ""))
    return Head(
        name=name,
        file_name=file_name,
        charset=charset[1] if charset else "",
        encoding=texts.get(b"content-transfer-encoding", "").strip().lower(),
    )


def file_name_text(head: Head, name: str) -> str:
    """Return a decoded file name as it was chosen: browsers write `&#937;` for what the page's charset lacks."""
    return html.unescape(name) if isinstance(head.file_name, bytes) and "&" in name else name


def _parameters(disposition: str) -> dict[str, str]:
    kind = _TYPE.match(disposition)
    position, found = kind.end() if kind else 0, dict[str, str]()
    while kind and (one := _PARAMETER.match(disposition, position)):
        found.setdefault(one[1].lower(), one[3] if one[2] is None else _unquoted(one[2]))
        position = one.end()
    if kind is None or disposition[position:].strip(" \t;"):
        raise BrokenHead
    return found


def _value(parameters: Mapping[str, str], name: str) -> bytes | str | None:
    if f"{name}*" in parameters:
        return _extended(parameters[f"{name}*"])
    return parameters[name].encode("latin-1") if name in parameters else None


def _unquoted(value: str) -> str:
    if '\\"' in value:  # by a program that escapes the backslash too
        value = value.replace("\\\\", "\\").replace('\\"', '"')
    if "%" in value:
        for encoded, character in _ENCODED.items():
            value = value.replace(encoded, character)
    return value


def _extended(value: str) -> str:
    charset, _, rest = value.partition("'")
    return decode(unquote_to_bytes(rest.partition("'")[2].encode("latin-1")), [charset])
