"""Text in a file: whether it is text, and whether it is HTML, SVG or a script. Text has no signature."""

import re

from submissions.files.file_types import TEXT, XML, RefusedContent

SNIFFED = 1024  # characters, in which readers of other types look for a marker; browsers stop there or before
_BINARY = frozenset(map(chr, range(32))) - frozenset("\t\n\r\f\b\x1b")  # control characters that text does not have


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_MARKER = re.compile(r"<(?:script|html|svg|iframe|body)[\s/>]|<!doctype\s{1,99}(?:html|svg)|<\?(?:php|=)|<hta:")
_XML_MARKER = re.compile(
    r"<(?:\w{1,20}:)?(?:script|html|svg|iframe)[\s/>]|<\?xml-stylesheet|<!entity"
    r"|http://www\.w3\.org/(?:1999/xhtml|2000/svg)"
    r"|xmlns(?::[\w.-]{1,40})?\s{0,9}=\s{0,9}[\"'][^\"'<>]{0,60}&"  # the same, spelled with character references
)
_ELEMENT = re.compile(r"<(?:[a-z_][\w.-]{0,99}:)?([a-z_][\w.-]{0,99})")
_ENCODING = re.compile(r"encoding\s{0,9}=\s{0,9}[\"']([\w.-]{1,40})")
_ENCODINGS = ("utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-", "windows-125")
_HTML_ELEMENTS = _words(
    "html head body script style title meta link base iframe frameset object embed applet form input button select"
    " textarea img image video audio source svg math template div span p a b i u br hr h1 h2 h3 h4 h5 h6 font center"
    " table tr td ul ol li pre marquee details dialog application"
)
_SCRIPT_STARTS = (
    "#!",
    "@echo",
    "@set ",
    "@rem",
    "<%",
    "#@~^",
    "'use strict'",
    '"use strict"',
    "on error resume next",
    "option explicit",
    "[internetshortcut]",
    "[desktop entry]",
    "[autorun]",
    "regedit4",
    "windows registry editor",
)
_SCRIPT_PARTS = (
    "wscript.",
    "activexobject(",
    "createobject(",
    "invoke-expression",
    "set-executionpolicy",
    "new-object system.net",
    "new-object net.webclient",
    "document.write(",
    "<job ",
    "<job>",
    "<scriptlet",
)


def decoded(head: bytes) -> str | None:
    """Return the beginning of a file as text; None if it is binary. Old 8-bit encodings are read as Latin-1."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            text = head.decode(encoding, errors="replace")
            break
    else:
        text = head.decode(_encoding_without_mark(head), errors="replace")
    return None if _BINARY.intersection(text) else text


def _encoding_without_mark(head: bytes) -> str:
    if head[1:2] == head[3:4] == b"\0" != head[:1]:
        return "utf-16-le"
    if head[:1] == head[2:3] == b"\0" != head[1:2]:
        return "utf-16-be"
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # else the last character was cut
            return "latin-1"
    return "utf-8"


def refuse_markers(text: str) -> None:
    """Refuse a file of any type with a marker of HTML, SVG or PHP in its first 1,024 characters."""
    if _MARKER.search(text[:SNIFFED].lower()):
        raise RefusedContent("html")


def text_type(text: str, *, is_whole: bool) -> str:
    """Return `application/xml` or `text/plain` for the beginning of a text. Raises RefusedContent."""
    start = text.lstrip("\ufeff \t\r\n\f").lower()
    if not start and not is_whole:  # blanks only, as far as it was read
        raise RefusedContent("html")
    if start.startswith(_SCRIPT_STARTS) or any(part in start[:SNIFFED] for part in _SCRIPT_PARTS):
        raise RefusedContent("script")
    if not start.startswith("<"):
        return TEXT
    if _XML_MARKER.search(start) or _MARKER.search(start[:SNIFFED]) or _root(start) in _HTML_ELEMENTS:
        raise RefusedContent("html")
    return XML if start.startswith("<?xml") else TEXT


def _root(text: str) -> str:
    """Return the name of the first element without its prefix; `html` for a beginning that browsers take for HTML."""
    place = 0
    while text.startswith(("<!", "<?"), place):
        if text.startswith("<!--", place):
            end = text.find("-->", place + 4) + 3
        elif text.startswith("<?", place):
            end = text.find("?>", place) + 2
            if not _is_plain_instruction(text[place:end]):
                return "html"
        else:
            end = text.find(">", place) + 1
            if "[" in text[place:end]:  # a type definition inside the file may build any text
                return "html"
        if end <= place:  # it does not end in the part that was read
            return "html"
        place = end
        while text[place : place + 1].isspace():
            place += 1
    found = _ELEMENT.match(text, place)
    if found:
        return found[1]
    return "html" if place else ""  # no element follows, or it is too far away to be read


def _is_plain_instruction(instruction: str) -> bool:
    """Return whether `<?…?>` is read as we read it: an encoding that hides `<` in other bytes is not."""
    encoding = _ENCODING.search(instruction)
    return encoding is None or encoding[1].startswith(_ENCODINGS)
