"""A guide's Markdown as HTML, its headings and its sections. Raw HTML in a guide is shown as text."""

import dataclasses
import itertools
import re
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


@dataclasses.dataclass(frozen=True, slots=True)
class Heading:
    level: int  # 2 or 3
    anchor: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """The text between a heading and the next one, for the search."""

    heading: str  # "" before the first one
    anchor: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    html: SafeString
    headings: tuple[Heading, ...]
    sections: tuple[Section, ...]
    source: str


def render(text: str, names: frozenset[str]) -> Document:
    """Return a document. `names` are those of the guides that links may lead to; other files become text."""
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    tokens = markdown.parse(text)
    body = tokens[3:]  # without the title, which the page shows
    headings = tuple(_name_headings(body))
    for token in body:
        token.children = list(_with_addresses(token.children, names)) if token.children else token.children
    _name_cells(body)
    html = mark_safe(markdown.renderer.render(body, markdown.options, {}))  # noqa: S308  # HTML is off, text is escaped
    return Document(html, headings, tuple(_sections(body)), "".join(_without_lost_links(text, names)))


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
    """Return an inline token's text without its markup."""
    return "".join(
        " " if child.type in ("softbreak", "hardbreak") else child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def _name_headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Give each heading its anchor, and yield those for the list of contents."""
    counts: dict[str, int] = {}
    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "paragraph_open" and (match := PROMISE.match(inline.content)):
            opening.attrSet("id", match[1])
        if opening.type != "heading_open":
            continue
        name = slug(inline.content)
        counts[name] = counts.get(name, -1) + 1
        anchor = f"{name}-{counts[name]}" if counts[name] else name
        opening.attrSet("id", anchor)
        closing.meta["anchor"], closing.meta["text"] = anchor, _plain(inline)
        if opening.tag in ("h2", "h3"):
            yield Heading(int(opening.tag[1]), anchor, _plain(inline))


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


def _name_cells(tokens: Sequence[Token]) -> None:
    """Make empty cells of a table's head plain cells: a heading without text says nothing."""
    for opening, inline, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not inline.content:
            opening.tag = closing.tag = "td"


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """Yield the text below each heading, and each numbered promise."""
    heading, anchor = "", ""
    parts: list[str] = []
    for before, token in itertools.pairwise(tokens):
        if token.type == "inline" and "id" in before.attrs:
            yield Section(heading, anchor, " ".join(parts))
            is_heading = before.type == "heading_open"
            heading, parts = (_plain(token), []) if is_heading else (_promise(token), [_plain(token)])
            anchor = str(before.attrs["id"])
        elif token.type == "inline":
            parts.append(_plain(token))
        elif token.type == "fence":
            parts.append(token.content)
    yield Section(heading, anchor, " ".join(parts))


def _promise(token: Token) -> str:
    """Return the bold words that a numbered paragraph begins with."""
    return token.content[2:].partition("**")[0].rstrip(".")


def _without_lost_links(text: str, names: frozenset[str]) -> Iterator[str]:
    """Yield the Markdown in parts; links to files that are not served become their text."""
    for part in FENCES.split(text):
        yield part if part.startswith("```") else LINK.sub(lambda match: _kept(match, names), part)


def _kept(match: re.Match[str], names: frozenset[str]) -> str:
    return match[0] if address_of(match[2], names) else match[1]


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
