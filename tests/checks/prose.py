"""
The prose of a source file: its text with everything blanked that nobody reads as English.

Blanks keep every position, so a line number of the prose is one of the file. Kept are comments, docstrings and strings
of Python and JavaScript, the text of templates, comments of style sheets, and documents. A string that looks like an
identifier, a path or a selector is code, and so is text in backticks.
"""

import io
import re
import tokenize
from pathlib import Path

from tests.checks.sources import HASH_COMMENTS, NAMES, SCRIPTS

Span = tuple[int, int]
CODE_STRING = re.compile(r"[a-z0-9_.:/#%{}\[\]()<>*+,=&?@$^\\|!~;-][\w.:/#%{}\[\]()<>*+,=&?@$^\\|!~;'\"-]*")
STRING = re.compile(r"(?P<prefix>\w*)(?P<quote>\"\"\"|'''|\"|')(?P<body>.*)(?P=quote)", re.DOTALL)
BACKTICKS = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
PLACEHOLDER = re.compile(r"\{[^{}\n]*\}")
URL = re.compile(r"\b(?:https?|mailto):[^\s<>\"')]+")

SCRIPT = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
    r"|(?<=[=(,:;!&|?{}\[])(?P<gap>\s*)(?P<regex>/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)",
    re.DOTALL,
)
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)

TEMPLATE_COMMENT = re.compile(r"\{#.*?#\}|\{%\s*comment\b.*?endcomment\s*%\}", re.DOTALL)
TEMPLATE_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
QUOTED = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
SCRIPT_ELEMENT = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
HTML_TAG = re.compile(r"</?[a-zA-Z][^<>]*>", re.DOTALL)
READ_ATTRIBUTE = re.compile(r"\b(?:title|alt|placeholder|content|label|aria-label|value)=\"([^\"]*)\"")


def blank(text: str) -> str:
    """Return as many spaces as `text` has characters; line ends stay."""
    return re.sub(r"[^\n]", " ", text)


def keep(text: str, spans: list[Span]) -> str:
    """Return `text` with everything outside of `spans` blanked."""
    parts, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            parts += [blank(text[at:start]), text[start:end]]
            at = end
    return "".join([*parts, blank(text[at:])])


def without(text: str, pattern: re.Pattern[str]) -> str:
    """Return `text` with all matches of `pattern` blanked."""
    return pattern.sub(lambda match: blank(match[0]), text)


def is_code(text: str) -> bool:
    """Return whether a string is a name, a path or a selector: one word that does not begin a sentence."""
    return CODE_STRING.fullmatch(text.strip()) is not None


def python_prose(text: str) -> str:
    """Return the comments and strings of Python. Raises SyntaxError or tokenize.TokenError for what is not Python."""
    starts = [0]
    for line in text.split("\n"):  # as the tokenizer counts: form feeds and U+2028 end no line
        starts.append(starts[-1] + len(line) + 1)
    spans = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        start = starts[token.start[0] - 1] + token.start[1]
        end = starts[token.end[0] - 1] + token.end[1]
        if token.type == tokenize.COMMENT:
            spans.append((start + 1, end))
        elif token.type == tokenize.STRING:
            match = STRING.fullmatch(token.string)
            if match and "b" not in match["prefix"].lower() and not is_code(match["body"]):
                spans.append((start + match.start("quote"), end))
        elif tokenize.tok_name[token.type] == "FSTRING_MIDDLE":  # from Python 3.12 an f-string is several tokens
            spans.append((start, end))
    return without(without(keep(text, spans), BACKTICKS), PLACEHOLDER)


def script_prose(text: str) -> str:
    """Return the comments and strings of JavaScript."""
    spans = []
    for match in SCRIPT.finditer(text):
        if match["comment"]:
            spans.append((match.start() + 2, match.end()))
        elif match["string"] and not is_code(match["string"][1:-1]):
            spans.append((match.start() + 1, match.end() - 1))
    return keep(text, spans)


def css_prose(text: str) -> str:
    """Return the comments of a style sheet."""
    return keep(text, [match.span() for match in CSS_COMMENT.finditer(text)])


def hash_prose(text: str) -> str:
    """Return the comments of a Makefile, a TOML or a YAML file."""
    return without(keep(text, [match.span() for match in HASH_COMMENT.finditer(text)]), BACKTICKS)


def _template_strings(match: re.Match[str]) -> str:
    """Keep the words in quotes of a template's tag or variable."""
    spans = [found.span() for found in QUOTED.finditer(match[0]) if not is_code(found[1] or found[2] or "")]
    return keep(match[0], spans)


def _tag_text(match: re.Match[str]) -> str:
    """Keep an HTML tag's brackets, which bound the text of a cell, and the attributes that people read."""
    tag = match[0]
    ends = [(0, 1), (len(tag) - 1, len(tag))]
    return keep(tag, ends + [found.span(1) for found in READ_ATTRIBUTE.finditer(tag)])


def template_prose(text: str) -> str:
    """Return the text of a Django template, its comments, and the words in quotes of its tags."""
    comments = [match.span() for match in TEMPLATE_COMMENT.finditer(text)]
    visible = without(text, TEMPLATE_COMMENT)
    visible = SCRIPT_ELEMENT.sub(lambda match: match[0].replace(match[2], script_prose(match[2])), visible)
    visible = HTML_TAG.sub(_tag_text, TEMPLATE_CODE.sub(_template_strings, visible))
    # Comments are put back where they were blanked.
    for start, end in comments:
        visible = visible[:start] + text[start:end] + visible[end:]
    return without(visible, BACKTICKS)


def document_prose(text: str) -> str:
    """Return a document without the code in its lines; examples in fences are read, since they show messages."""
    fences = [match.span() for match in re.finditer(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)]
    lines, at = [], 0
    for start, end in fences:
        lines += [without(text[at:start], BACKTICKS), text[start:end]]
        at = end
    return "".join([*lines, without(text[at:], BACKTICKS)])


def prose_of(path: Path, text: str) -> str:
    """Return the prose of a file, by its name, without URLs; runs of blanks are one space, line ends stay."""
    if path.suffix == ".py":
        prose = python_prose(text)
    elif path.suffix == ".css":
        prose = css_prose(text)
    elif path.suffix in SCRIPTS:
        prose = script_prose(text)
    elif path.suffix in HASH_COMMENTS or path.name in NAMES:
        prose = hash_prose(text)
    elif path.suffix == ".md":
        prose = document_prose(text)
    else:
        prose = template_prose(text)
    return re.sub(r"[^\S\n]+", " ", without(prose, URL))
