"""A guide's Markdown as HTML, its headings and its sections. Raw HTML in a guide is shown as text."""

import dataclasses
import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

FENCES = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
GUIDE = re.compile(r"(?P<name>[\w-]+)\.md(?P<anchor>#.*)?")
PROMISE = re.compile(r"\*\*(\d+\.\d+) ")  # how the numbered paragraphs of the contract begin
NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
ELSEWHERE = re.compile(r"https?:|mailto:")
IMAGE = re.compile(r"images/([\w-]+\.png)")
MAX_KEPT = 20  # documents of a process: there are fewer guides


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one. `level`: 1 of the title, 0 of a numbered promise of the contract."""

    level: int
    heading: str  # "" of the title
    anchor: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    html: SafeString
    sections: tuple[Section, ...]
    source: str

    @property
    def headings(self) -> list[Section]:
        """The sections for the list of contents."""
        return [section for section in self.sections if section.level in (2, 3)]


@functools.lru_cache(MAX_KEPT)
def render(text: str, names: frozenset[str]) -> Document:
    """Return a document. `names` are those of the guides that links may lead to; other files become text."""
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    body = markdown.parse(text)[3:]  # without the title, which the page shows
    _name_parts(body)
    for token in body:
        token.children = list(_with_addresses(token.children, names)) if token.children else token.children
    html = mark_safe(markdown.renderer.render(body, markdown.options, {}))  # noqa: S308  # HTML is off, text is escaped
    return Document(html, tuple(_sections(body)), "".join(_without_lost_links(text, names)))


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading, so that links work in both places."""
    return NOT_IN_ANCHORS.sub("", heading.lower()).replace(" ", "-")


def address_of(target: str, names: frozenset[str]) -> str | None:
    """Return where a link leads on our pages, or None for a file that is not served."""
    if target.startswith("#") or ELSEWHERE.match(target):
        return target
    match = GUIDE.fullmatch(target)
    if match is None or match["name"] not in names:
        return None
    return reverse("guides:page", args=[match["name"]]) + (match["anchor"] or "")


def _plain(token: Token) -> str:
    return "".join(
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def _name_parts(tokens: Sequence[Token]) -> None:
    """Give headings and promises their anchors. Empty cells of a table's head become plain: they name nothing."""
    counts: Counter[str] = Counter()
    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "paragraph_open" and (match := PROMISE.match(inline.content)):
            opening.attrSet("id", match[1])
        elif opening.type == "th_open" and not inline.content:
            opening.tag = closing.tag = "td"
        elif opening.type == "heading_open":
            name = slug(inline.content)
            anchor = f"{name}-{counts[name]}" if counts[name] else name
            counts[name] += 1
            opening.attrSet("id", anchor)
            closing.meta["anchor"], closing.meta["text"] = anchor, _plain(inline)


def _with_addresses(children: Iterable[Token], names: frozenset[str]) -> Iterator[Token]:
    """Point links to pages and images to static files; drop the links that would lead nowhere, not their text."""
    is_dropped = False  # links do not nest
    for child in children:
        if child.type == "link_open":
            address = address_of(str(child.attrs["href"]), names)
            is_dropped = address is None
            child.attrs["href"] = address or ""
        elif child.type == "image" and (match := IMAGE.fullmatch(str(child.attrs["src"]))):
            child.attrs["src"] = static(f"docs/{match[1]}")
        if not (is_dropped and child.type in ("link_open", "link_close")):
            yield child


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """Yield the text below each heading, and each numbered promise."""
    level, heading, anchor = 1, "", ""
    parts: list[str] = []
    for before, token in itertools.pairwise(tokens):
        if token.type == "inline" and "id" in before.attrs:
            yield Section(level, heading, anchor, " ".join(parts))
            anchor = str(before.attrs["id"])
            if before.type == "heading_open":
                level, heading, parts = int(before.tag[1]), _plain(token), []
            else:
                promise = token.content[2:].partition("**")[0].rstrip(".")  # its first words, which are bold
                level, heading, parts = 0, promise, [_plain(token)]
        elif token.type == "inline":
            parts.append(_plain(token))
        elif token.type == "fence":
            parts.append(token.content)
    yield Section(level, heading, anchor, " ".join(parts))


def _without_lost_links(text: str, names: frozenset[str]) -> Iterator[str]:
    """Yield the Markdown in parts; links to files that are not served become their text."""

    def kept(match: re.Match[str]) -> str:
        return match[0] if address_of(match[2], names) else match[1]

    for part in FENCES.split(text):
        yield part if part.startswith("```") else LINK.sub(kept, part)


class _Renderer(RendererHTML):
    """Adds a link to each heading, a bar with a button over each block of code, and a frame that scrolls a table."""

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        anchor, text = escape(token.meta["anchor"]), escape(token.meta["text"])
        return f' <a class="anchor" href="#{anchor}" aria-label="Link to {text}">#</a></{token.tag}>\n'

    def fence(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        language, _, file = token.info.strip().partition(" ")
        shown = escape(file or language or "text")
        return (
            f'<figure class="code"><figcaption><span>{shown}</span>'
            f'<button type="button" class="btn btn-quiet btn-sm" aria-label="Copy {shown}" hidden>Copy</button>'
            f'</figcaption><pre tabindex="0"><code>{escape(token.content)}</code></pre></figure>\n'
        )

    def table_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return '<div class="scrolls" tabindex="0" role="group" aria-label="Table"><table class="table">\n'

    def table_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</table></div>\n"
