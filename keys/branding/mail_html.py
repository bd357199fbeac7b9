"""
The HTML part of mails that are written as plain text: codes, notices, news about accounts.

The text is the only source, so both parts say the same. Only addresses of this service become links: a name or a
browser's identification in a text never becomes one.
"""

import re
from collections.abc import Iterator

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

_PARAGRAPHS = re.compile(r"\n{2,}")
CODE_HEADING = gettext_lazy("Your code")  # the subject repeats it
MAX_LINK_LABEL = 60  # characters before an address that fills the rest of its line
OPEN = gettext_lazy("Open Fieldpost")  # the button for an address that a text gives without words


def html_of(subject: str, text: str, *, code: str = "") -> str:
    """Return the HTML part of a mail. `code`: drawn large where it is a paragraph."""
    parts = list(_parts(text, code))
    first = next((part["text"] for part in parts if part["kind"] == "text"), "")
    heading = str(CODE_HEADING) if code else subject
    context = {"subject": subject, "heading": heading, "parts": parts, "preheader": first}
    return render_to_string("mail/text.html", context)


def _parts(text: str, code: str) -> Iterator[dict[str, str]]:
    """
    Yield `{kind, text, url}` of each line or paragraph.

    `kind`: `text`, `code`, `button` or `link`; `url`: of a button or link, or at a text's end.
    """
    is_first_link = True
    for paragraph in _PARAGRAPHS.split(text.strip().replace("\r\n", "\n")):
        if paragraph == f"Fieldpost\n{settings.PUBLIC_URL}":  # the signature: the frame has its own
            continue
        if code and paragraph.strip() == code:
            yield {"kind": "code", "text": code}
            continue
        links = [_link(line) for line in paragraph.split("\n")]
        if all(links):
            for label, url in filter(None, links):
                yield {"kind": "button" if is_first_link else "link", "text": label or str(OPEN), "url": url}
                is_first_link = False
        else:
            words, separator, address = paragraph.rpartition(": ")
            shown, url = (words + separator, address) if separator and _is_ours(address) else (paragraph, "")
            yield {"kind": "text", "text": shown, "url": url}


def _link(line: str) -> tuple[str, str] | None:
    """Return `(label, address)` of a line that is only an address of ours, with words before it or not."""
    label, _, address = line.rpartition(": ")
    return (label, address) if _is_ours(address) and len(label) <= MAX_LINK_LABEL and ":" not in label else None


def _is_ours(address: str) -> bool:
    return address.startswith(f"{settings.PUBLIC_URL}/") and address.split() == [address]
