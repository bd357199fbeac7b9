"""
Bytes of a form as text, by the charset that its sender names.

Charsets are named by the labels of https://encoding.spec.whatwg.org/#names-and-labels, as browsers do, and no other
codec of Python is used: some of those take quadratic time. Pages in an old charset name none unless they ask for it
with `_charset_`, so text that is not UTF-8 is windows-1252.
"""

import codecs
from collections.abc import Iterable

from webencodings import lookup

CHARSET_FIELD = "_charset_"  # a hidden input of this name gets the page's charset from the browser (HTML, 4.10.22.4)
UNMAPPED = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0)}


def decode(data: bytes, named: Iterable[str] = (), *, otherwise: str = "") -> str:
    """
    Return a text: by the first known label of `named`, else as UTF-8, else by the label `otherwise`, else windows-1252.

    Bytes that a named charset does not have become U+FFFD; windows-1252 has all bytes, as browsers read it.
    """
    for label in named:
        if codec := _codec(label):
            return codec.decode(data, "replace")[0]
    try:
        return data.decode()
    except UnicodeDecodeError:
        codec = _codec(otherwise)
        if codec and codec.name != "utf-8":
            return codec.decode(data, "replace")[0]
        return data.decode("latin-1").translate(UNMAPPED)


def _codec(label: str) -> codecs.CodecInfo | None:
    """Return the codec of a label, but for those of "replacement", which would leave nothing of a text."""
    encoding = lookup(label) if label else None
    return encoding.codec_info if encoding and encoding.name != "replacement" else None


def decode_name(data: bytes, named: Iterable[str] = (), *, otherwise: str = "") -> str:
    """Return the name of an input. Forms send a line break in it as CRLF, whatever it is in the page."""
    name = decode(data, named, otherwise=otherwise)
    return name.replace("\r\n", "\n") if "\r" in name else name
