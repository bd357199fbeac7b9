"""
No input costs more than its size: patterns, fed with 64 KiB of hostile and of harmless text.

The worst may take ten times the processor time of the harmless one. Quadratic time would be hundreds of times. The
parsers that use them get whole bodies of 256 KiB: `test_parser_costs.py`.
"""

import ast
import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.costs import fill, hostile_texts, too_expensive

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["config", "keys", "forms_app", "submissions", "webhooks", "dashboard"]
LENGTH = 64 * 1024
ENTRANCES = {"config.asgi", "config.wsgi"}  # importing them starts Django's handlers
# Pieces of most formats, besides those of a row.
COMMON = ("a", "0", " ", ".", "-", '"', "\\", "\n", "é", "\u0301")
NOT_SEEN = {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer", "template"}  # of `re`
HIDING = {"RegexField", "RegexValidator", "fnmatchcase", "fnmatch"}  # compile patterns themselves
# Of short texts only: names of URLs, 300 characters of a user agent, a password and names of at most 200 characters,
# a query of at most 100 characters in an excerpt of 200, an example of the schema; and an operator's own file and URL.
HIDDEN = {
    ("dashboard/frame/design/menu.py", "fnmatchcase"),
    ("dashboard/accounts/devices.py", "search"),
    ("dashboard/accounts/password_strength.py", "sub"),
    ("dashboard/accounts/password_strength.py", "split"),
    ("dashboard/guides/search.py", "compile"),
    ("config/api/openapi/finish.py", "search"),
    ("config/environment/env_file.py", "split"),
    ("config/files/s3_url.py", "fullmatch"),
    ("config/environment/env_file.py", "sub"),
}


@dataclasses.dataclass(frozen=True)
class Row:
    """How the code calls a pattern, pieces that it tries hard to match, and a text that it is made for."""

    use: str
    pieces: tuple[str, ...]
    harmless: str


WORDS = "A harmless sentence, as people write. "
PATTERNS = {
    "config.api.compression._ZERO": Row("fullmatch", ("q=0", "q=", ".0", "0."), "q=0.5, "),
    "config.pages.small_files.LARGE_FILES": Row("fullmatch", ("/dashboard/o/", "a/", "forms/", "a"), "/dashboard/o/a/"),
    "submissions.importing.files._NEXT": Row("search", (",", ", \n"), ",\n "),
    "submissions.importing.mapping._MARK": Row("sub", (";'", "'", "\t'"), "a;'=1 "),
    "submissions.importing.mapping._GMT": Row("sub", (" GMT+", "1", ":00"), "2024/01/31 9:30:00 AM GMT+1 "),
    "submissions.importing.mapping._EPOCH": Row("fullmatch", ("1",), "1700000000"),
    "submissions.importing.mapping._AMBIGUOUS": Row("match", ("1/", "1."), "31.01.2024 "),
    "config.base.ids._REQUEST_ID": Row("fullmatch", ("a.", "_-"), "abc"),
    "config.api.middleware._HEADER_LIST": Row("fullmatch", ("a, ", "~|", "é"), "content-type, "),
    "config.api.middleware._ORIGIN": Row("fullmatch", ("https://", "a.", " "), "https://example.com"),
    "config.base.client_address._WITH_PORT": Row("fullmatch", ("[::1]", ":1", "a:", "[", "]"), "192.0.2.1:443"),
    "config.checks.HEADER_NAME": Row("fullmatch", ("A-", "a", "_"), "Remote-Email"),
    "config.environment.env_file._ASSIGNMENT": Row("fullmatch", ("export ", "a", "=", " "), "NAME=value "),
    "config.environment.env_file._PART": Row("match", ("'a'", '"a\\"', "\\a", " "), "a value without quotes "),
    "config.files.s3_url._BUCKET": Row("fullmatch", ("a.", "-_"), "my-bucket"),
    "config.api.openapi.finish.CHOICE": Row("findall", ("\n* `", "` - ", "* `a` - b", "`"), WORDS),
    "config.api.openapi.finish.ID_PATTERN": Row("match", ("^frm_[", "^", "_", "["), "^frm_["),
    "config.api.openapi.finish.NOT_A_LETTER": Row("sub", ("_", "-"), WORDS),
    "config.api.openapi.resources.WORD": Row("findall", ("A", "aB", "a"), WORDS),
    "config.api.parsing._TOKENS": Row("findall", ('\\"', '"a', "NaNx", "\\\\", "[{"), '{"name": "value"}, '),
    "config.error_reports._PUBLIC_ID": Row("fullmatch", ("frm", "frm_", "a_", "0"), "frm_"),
    "config.error_reports._SECRET": Row("findall", ("fp_", "pub_", "whsec_", "a-", "_", "aB3"), WORDS),
    "config.logs._DETAIL": Row("findall", ("DETAIL:", "\nCONTEXT", "\n\nThe abov", "\n\n"), WORDS),
    "config.pages.static_files.HASHED": Row("fullmatch", (".0123456789ab", ".js", "a.", "/"), "dashboard/page.css"),
    "config.base.text._ADDRESS": Row("search", ("://", "www", " www", "WWW"), WORDS),
    "config.base.text._IN_A_HOST": Row("search", ("a.b", "a.", ".c1", "\u3002a"), WORDS),
    "config.base.text._LONE_SURROGATE": Row("findall", ("\ud800", "\udfff"), WORDS),
    "config.base.times._DATE": Row("fullmatch", ("2026-", "01-", "٣"), "2026-01-31"),
    "config.base.times._TIME": Row("fullmatch", ("2026-01-31T09:30:00.", "00", "+02:00", "Z"), "2026-01-31T09:30:00Z"),
    "dashboard.guides.rendering.ELSEWHERE": Row("match", ("https", "http:", "mailto"), "https://a.example"),
    "dashboard.guides.rendering.FENCES": Row("findall", ("\n```", "```", "\n``"), WORDS),
    "dashboard.guides.rendering.GUIDE": Row("fullmatch", ("a.md", ".md#", "a-"), "api.md#errors"),
    "dashboard.guides.rendering.IMAGE": Row("findall", ("images/", "images/a", ".png"), WORDS),
    "dashboard.guides.rendering.LINK": Row("findall", ("[", "[a](", "](", "[a]"), WORDS),
    "dashboard.guides.rendering.NOT_IN_ANCHORS": Row("sub", ("- ", "!"), WORDS),
    "dashboard.guides.rendering.PROMISE": Row("findall", ("**1.", "**", "1.1", "**1.1"), WORDS),
    "dashboard.html_forms.submissions._WORD": Row("findall", ('"', '"a', '" ', 'a"'), WORDS),
    "dashboard.pages.submissions.values._INTERNATIONAL": Row("fullmatch", ("+1", "2 ", "(", "-"), "+49 30 123456"),
    "dashboard.pages.submissions.values._NO_DIGIT": Row("sub", ("+1", "2 ", "("), "+49 30 123456 "),
    "dashboard.pages.submissions.values._NUMBER": Row("fullmatch", ("+1", "2 ", "(", "-"), "030 123456"),
    "dashboard.pages.new_forms.json_lines._TOKENS": Row(
        "findall", ('\\"', '"a', '"', "\\\\", "\\\n", "[{", "1a"), '{"name": "value"}, '
    ),
    "dashboard.pages.new_forms.pasted_html._INNER_CAPITAL": Row("sub", ("aB", "ab", "AB"), "firstName lastName "),
    "dashboard.pages.new_forms.pasted_html._NO_LETTER": Row("sub", ("_", "-_", "[a]"), "first_name "),
    "dashboard.html_forms.file_inputs._BETWEEN": Row("split", (",", ";", " ,", "a,"), WORDS),
    "forms_app.actions._COPY": Row("sub", (" copy", " copy 1", " copy 12345"), "Contact copy 2 "),
    "forms_app.document.bodies._COLOR": Row("fullmatch", ("#", "0a", "#aabbcc"), "#aabbcc"),
    "forms_app.document.bodies._UNFIT_FOR_A_SENDER": Row("search", ("a", "\x85", "< "), WORDS),
    "forms_app.file_fields.entries._ENTRY": Row("fullmatch", ("a/", "/*", ".a", "a.", "+", "a-"), "application/pdf"),
    "forms_app.formats._EMAIL": Row("fullmatch", ("a@", "a.", "a-", "@b.", "-", ".a"), "ada@example.com"),
    "forms_app.formats._HTTP_URL": Row("fullmatch", ("https://", "http:", "/"), "https://example.com/"),
    "forms_app.formats._NUMBER": Row("fullmatch", ("1.", "e+", "5e", "+-"), "1"),
    "forms_app.origins._ORIGIN": Row("fullmatch", ("https://", "a.", "[::", ":1", "*."), "https://example.com"),
    "forms_app.react_snippet._PLAIN": Row("fullmatch", ("a{", "…", "%"), WORDS),
    "keys.branding.brand._NAME": Row(
        "fullmatch", ("0a", "-1", "x1", "-dark"), "0123456789abcdef0123456789abcdef-64x64"
    ),
    "keys.branding.colors._COLOR": Row("fullmatch", ("#", "abc", "12"), "#aabbcc"),
    "keys.branding.mail_html._PARAGRAPHS": Row("split", ("\n", "\n\n", "\n a"), WORDS),
    "keys.tokens._SHAPE": Row("fullmatch", ("pub_", "aB3"), "abc"),
    "submissions.exporting.csv_lines._FIRST_OF_CELL": Row("search", ("\0", "\0a", "a"), WORDS),
    "submissions.exporting.csv_lines._FORMULA": Row("match", ("' ", "=", "\u200b", "\ufeff"), WORDS),
    "submissions.exporting.csv_lines._SPLIT_FORMULA": Row(
        "sub", (";", ";   ", "; ;'", "\t\u200b", ";=", "|", "\r\n", "\n   "), "a; b; "
    ),
    "submissions.files.text_content._ELEMENT": Row("match", ("<a", "<a:", "a-.", ":b"), "<note>"),
    "submissions.files.text_content._ENCODING": Row("search", ("encoding", "= ", '"', "encoding = '", "a"), WORDS),
    "submissions.files.text_content._MARKER": Row(
        "search", ("<script", "<!doctype", "<!doctype ", "  ", "<?", "<hta", "<"), WORDS
    ),
    "submissions.files.text_content._XML_MARKER": Row(
        "search", ("<a", "<ab:", "<a:svg", "<!ent", "http://www.w3.org/", "<?xml-", "xmlns", "xmlns:a", " = 'a"), WORDS
    ),
    "submissions.hosted.bodies._BOUNDARY": Row("fullmatch", ("a ", " ", "-"), "----WebKitFormBoundary7MA4YWxkTrZu0gW"),
    "submissions.hosted.moved._ALIAS": Row("fullmatch", ("0a", "g"), "0123456789abcdef"),
    "submissions.hosted.redirects._LOOKS_LIKE_ADDRESS": Row("match", ("https:/", "//"), "https://example.com/"),
    "submissions.hosted.redirects._TRICKS": Row("search", ("/a", "%5c"), "https://example.com/"),
    "submissions.parsing.part_heads._CHARSET": Row(
        "search", (";", "; ", ";charset", ";charset=", '"', " ="), "text/plain; charset=utf-8"
    ),
    "submissions.parsing.part_heads._CONTINUED": Row("match", ("file", "name", "name*", "filename*0"), "filename*0*"),
    "submissions.parsing.part_heads._PARAMETER": Row(
        "match", (';a="', '"', '" ', '"; ', ";a", "; ", "a="), '; name="a"; filename="b.pdf"'
    ),
    "submissions.parsing.part_heads._TYPE": Row("match", (" ", "form-data", "form-data "), "form-data; "),
    "submissions.reading.search._WORD": Row("findall", ("a_", "__"), WORDS),
    "submissions.receiving.blocked_words._PIECE": Row("findall", ("a!", "!?", "_-"), WORDS),
    "submissions.receiving.spam._LINK": Row("findall", ("http", "https:/", "www", " www."), "https://a.example "),
    "submissions.refusals.recorder._QUOTED_NUMBER": Row("sub", ("The number ", "9"), "The number 5 is"),
    "submissions.transfers.downloads._MEDIA_TYPE": Row("fullmatch", ("text/", "a", "+x", "."), "application/pdf"),
    "submissions.transfers.downloads._RANGE": Row("fullmatch", ("bytes=", "9", "-", "bytes=0-"), "bytes=0-9"),
    "submissions.transfers.downloads._RUNNABLE": Row("match", ("xml", "java", "script", "a/"), "image/svg+xml"),
    "webhooks.transport.address_guard._BRACKETED": Row("fullmatch", ("[", "::", "]:", "9"), "[::1]:80"),
    "webhooks.transport.address_guard._HOST": Row("fullmatch", ("a.", "_-"), "example.com"),
    "webhooks.kinds.discord.MARKUP": Row("sub", ("*", "\\*", "[a]("), WORDS),
    "webhooks.kinds.discord.PATH": Row(
        "fullmatch",
        ("/api/v10/webhooks/", "123456789012345678", "/a", "?thread_id="),
        "/api/webhooks/123456789012345678/abc",
    ),
    "webhooks.kinds.google_tokens.EMAIL": Row(
        "fullmatch", ("a.", "-a", "@a", ".gserviceaccount.com"), "robot@project.iam.gserviceaccount.com"
    ),
    "webhooks.kinds.google_sheets.ID": Row("fullmatch", ("a_", "-a"), "abc"),
    "webhooks.kinds.google_tokens.KEY_ID": Row("fullmatch", ("a_", "-0"), "0123abc"),
    "webhooks.kinds.google_tokens.TOKEN": Row("fullmatch", ("ya29.", "~!"), "ya29.abc"),
    "webhooks.kinds.http_request.NAME": Row("fullmatch", ("a-", "~|"), "X-Token"),
    "webhooks.kinds.http_request.VALUE": Row("fullmatch", ("a ", "~!", " "), "Bearer abc"),
    "forms_app.texts.placeholders._FILTER": Row(
        "match", (" | ", "|", 'default: "', '"', "truncate: ", "99", "  "), ' | default: "none" | truncate: 80'
    ),
    "forms_app.texts.placeholders._NAME": Row(
        "match", ("data.", "data. ", "form.name", "submission.id", "  ", "|"), "data.first name"
    ),
    "forms_app.texts.placeholders._PLACEHOLDER": Row(
        "findall", ("{{", "}}", '{{"', '"{{"', '{{""', "{{ a", "}", '" {{" '), "{{ data.name }} "
    ),
    "forms_app.texts.replies._WORD": Row("findall", ("a", " ", "\n"), WORDS),
    "webhooks.kinds.ntfy.TOKEN": Row("fullmatch", ("tk_", "~!"), "tk_abc"),
    "webhooks.kinds.ntfy.TOPIC": Row("fullmatch", ("/a", "/", "/a-", "?"), "/my-topic"),
    "webhooks.kinds.slack.PATH": Row("fullmatch", ("/services/", "T0/", "/B0"), "/services/T0/B0/abc"),
    "webhooks.kinds.teams.PATH": Row(
        "fullmatch", ("/workflows/", "?sig=", "&sig=a", "/a"), "/workflows/a/invoke?sp=x&sig=abc"
    ),
    "webhooks.kinds.telegram.CHAT": Row("fullmatch", ("-1", "99", "@a"), "@channel"),
    "webhooks.kinds.telegram.MENTION": Row("sub", ("@a", "a@", "@@"), WORDS),
    "webhooks.kinds.telegram.TOKEN": Row("fullmatch", ("12345:", "99", "a-"), "12345:abc"),
    "forms_app.consent.addresses._QUOTED_PAIR": Row("sub", ("\\a", "\\"), "ada lovelace "),
    "forms_app.consent.addresses._UNFIT_FOR_ADDRESS": Row("search", ("a@", "@b."), "ada@example.com"),
    "webhooks.transport.smtp._UNFIT_FOR_SUBJECT": Row("findall", ("\x00", "\u2028a"), WORDS),
}


def our_modules() -> Iterator[ModuleType]:
    for room in ROOMS:
        package = importlib.import_module(room)
        for found in pkgutil.walk_packages(package.__path__, f"{room}."):
            if ".migrations" not in found.name and found.name not in ENTRANCES:
                yield importlib.import_module(found.name)


def patterns_in(value: Any, name: str, seen: set[int]) -> Iterator[tuple[str, "re.Pattern[str]"]]:
    """Yield the compiled patterns in a value of ours: containers, classes, instances and what functions hold."""
    if isinstance(value, re.Pattern):
        yield name, value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    inner: Mapping[Any, Any] = {}
    if isinstance(value, Mapping):
        inner = value
    elif isinstance(value, list | tuple | set | frozenset):
        inner = dict(enumerate(value))
    elif str(getattr(value, "__module__", "")).partition(".")[0] in ROOMS:
        inner = {**getattr(value, "__dict__", {}), "()": getattr(value, "__defaults__", None)}
        for slot in getattr(type(value), "__slots__", ()):
            inner[slot] = getattr(value, slot, None)
    for key, one in inner.items():
        yield from patterns_in(one, f"{name}.{key}", seen)


@cache
def compiled_patterns() -> dict[str, "re.Pattern[str]"]:
    """
    Return every compiled pattern of our modules; one that several import counts where it was found first.

    A test asks for them, not the import of this file: the suite on PostgreSQL collects it too, and runs none of it.
    """
    found: dict[int, tuple[str, re.Pattern[str]]] = {}
    for module in sorted(our_modules(), key=lambda one: one.__name__):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for key, value in list(vars(module).items()):
            if key not in imported and not key.startswith("__"):
                for name, pattern in patterns_in(value, f"{module.__name__}.{key}", set()):
                    found.setdefault(id(pattern), (name, pattern))
    return dict(found.values())


@pytest.mark.slow
def test_patterns__of_our_modules__have_a_row_each() -> None:
    assert sorted(compiled_patterns()) == sorted(PATTERNS)


def test_patterns__in_the_source__are_compiled_where_the_walk_sees_them() -> None:
    hidden = []
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts):
        source = path.read_text()
        if not MAY_COMPILE.search(source):  # parsing takes most of the time
            continue
        tree = ast.parse(source)
        inside = {id(node) for one in ast.walk(tree) if isinstance(one, FUNCTIONS) for node in ast.walk(one)}
        for node in ast.walk(tree):
            name = hiding_name(node, is_inside=id(node) in inside)
            if name and (str(path.relative_to(ROOT)), name) not in HIDDEN:
                hidden.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)} {name}")
    assert hidden == []  # compile at module level, with re.compile, and give it a row above


MAY_COMPILE = re.compile(r"\b(?:re|sre_compile|regex)\b|" + "|".join(sorted(HIDING)))  # a name that `hiding_name` knows
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def hiding_name(node: ast.AST, *, is_inside: bool) -> str:
    """Return the name of a call that compiles a pattern out of sight, or of an import that would hide one."""
    if isinstance(node, ast.ImportFrom) and node.module in ("re", "sre_compile", "regex"):
        return node.module
    if isinstance(node, ast.Import):
        return next((one.name for one in node.names if one.name == "re" and one.asname), "")
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re":
        return called.attr if called.attr in NOT_SEEN or (called.attr == "compile" and is_inside) else ""
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    return name if name in HIDING else ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_pattern__hostile_text__costs_no_more_than_its_size(name: str) -> None:
    row, pattern = PATTERNS[name], compiled_patterns()[name]
    call: Callable[[str], object] = partial(pattern.sub, "") if row.use == "sub" else getattr(pattern, row.use)

    def hostile(size: int) -> Iterator[str]:
        yield from hostile_texts(row.pieces, size)
        for piece in COMMON:
            yield fill(piece, size=size - 1) + "\x01"
            yield row.harmless + fill(piece, size=size - len(row.harmless))

    assert too_expensive(call, fill(row.harmless, size=LENGTH), hostile, LENGTH) == ""
