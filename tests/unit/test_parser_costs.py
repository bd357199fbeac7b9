"""
Every parser and check of received text, with 256 KiB of hostile and of harmless input: at most ten times the time.

The patterns by themselves: `test_pattern_costs.py`.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.core.validators import validate_email, validate_slug
from django.http import QueryDict
from django.test import RequestFactory
from django.urls import resolve
from django.utils.http import parse_etags
from django.utils.text import slugify
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from config.api.filters import refuse_unknown_parameters
from config.api.parsing import drop_long_media_types, idempotency_key, parse_object
from config.base.client_address import client_network
from config.base.ids import Prefix, decode_id
from config.base.text import clean_name, clean_text
from config.base.times import now, parse_date
from config.logs import without_detail
from forms_app.document.bodies import FormChanges
from forms_app.field_kinds import KINDS, FieldType
from forms_app.formats import is_email, is_number, is_url, is_web_address
from forms_app.origins import is_allowed, origin_of
from forms_app.spam_protection import SpamProtection
from forms_app.validation import check_values
from keys.tokens import is_well_formed
from submissions.exporting.csv_lines import safe_cell
from submissions.hosted import stamps
from submissions.hosted.bodies import MULTIPART, URLENCODED, parse_form_body
from submissions.hosted.redirects import redirect_target
from submissions.receiving.parse_body import Intake, take_in
from submissions.receiving.proof_of_work import require_proof
from submissions.receiving.spam import spam_reasons
from submissions.search_text import search_text
from tests.support import costs
from tests.support.costs import SIZE, Call, fill, hostile_texts, too_expensive
from webhooks.transport.address_guard import parse_url
from webhooks.transport.http import parse_retry_after
from webhooks.transport.smtp import one_line

pytestmark = pytest.mark.slow

SENTENCE = "A harmless sentence, as people write. "
BOUNDARY = "----WebKitFormBoundary7MA4YWxkTrZu0gW"
HEAD = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"'
FILE = f'{HEAD}; filename="a.txt"\r\nContent-Type: text/plain\r\n'
END = f"\r\n--{BOUNDARY}--\r\n"
REQUESTS = RequestFactory()
HEAD_SIZE = 64 * 1024  # of a line or header; gunicorn refuses more than 16 KiB of one
OPTIONS = [f"option {number}" for number in range(200)]
# A hostile owner's words: as many as possible, which begin or end with each other.
REPEATED = tuple(f"{'a ' * (number % 49)}{word}" for number in range(50) for word in ("a", "b", "!!", "a!"))
STRICT = SpamProtection(max_links=1, blocked_words=REPEATED)
USUAL = SpamProtection(max_links=1, blocked_words=("casino", "buy now"))


@dataclasses.dataclass(frozen=True)
class Row:
    """A parser, harmless input of `size` characters, and hostile input of any size."""

    call: Call
    harmless: Any
    hostile: Callable[[int], Iterator[Any]]
    size: int = SIZE


def of_a_head(call: Call, harmless: str, *pieces: str) -> Row:
    """Return the row of a part of a request's head."""
    return Row(call, fill(harmless, size=HEAD_SIZE), texts(*pieces), HEAD_SIZE)


def around(head: str, piece: str, tail: str = "") -> Callable[[int], str]:
    return lambda size: head + fill(piece, size=max(0, size - len(head) - len(tail))) + tail


def bodies(*makers: Callable[[int], str]) -> Callable[[int], Iterator[bytes]]:
    return lambda size: (make(size).encode() for make in makers)


def texts(*pieces: str) -> Callable[[int], Iterator[str]]:
    return lambda size: hostile_texts(pieces, size)


def posted(kind: str) -> Callable[[bytes], object]:
    def parse(body: bytes) -> object:
        request = REQUESTS.generic("POST", "/f/x", b"", content_type=kind)
        return take_in(parse_form_body(request, body).fields)

    return parse


def with_header(name: str, use: Callable[[Any], object]) -> Call:
    return lambda text: use(REQUESTS.get("/api/forms", headers={name: text}))


def as_the_web_role(name: str) -> Call:
    """Make a request with a header as `config.wsgi` does."""

    def receive(text: str) -> object:
        environ = {"REQUEST_METHOD": "GET", "wsgi.input": BytesIO(), name: text}
        drop_long_media_types(environ)
        return negotiated(WSGIRequest(environ))

    return receive


def taken_in(body: bytes) -> object:
    return take_in(parse_object(body, numbers_as_text=True))


def judged(given: tuple[str, SpamProtection]) -> object:
    """Apply a form's spam rules to a text in four values."""
    text, protection = given
    values = {f"v{part}": text[part * SIZE // 4 : (part + 1) * SIZE // 4] for part in range(4)}
    return spam_reasons(Intake(values, {}, {}, {}, []), protection, declared=[], opened_for=None)


def checked_as(kind: str) -> Call:
    """Return the check of a field of this kind, whose value is a text, or comes as a list of members."""
    fields: Any = [{"name": "a", "label": "A", "type": kind, "required": True, "options": OPTIONS}]

    def check(given: str | list[str]) -> object:
        lists = {"a": given} if isinstance(given, list) else {}
        return list(check_values(fields, {"a": "" if lists else str(given)}, lists))

    return check


def many(member: str, size: int = SIZE) -> list[str]:
    """Return a list that takes `size` characters in JSON."""
    return [member] * (size // (len(member) + 3))


def values_of(kind: str) -> Callable[[int], Iterator[str | list[str]]]:
    def hostile(size: int) -> Iterator[str | list[str]]:
        yield from hostile_texts(("a@", "1.", "http://", "a.", "-", "[::", KINDS[kind].example), size)
        for member in ("", "x", "0", OPTIONS[-1], "option", KINDS[kind].example):
            yield many(member, size)

    return hostile


def json_of(make: Callable[[int], Any]) -> Callable[[int], Iterator[bytes]]:
    return lambda size: iter([json.dumps(make(size)).encode()[: 2 * SIZE]])


def form_fields(count: int, **more: Any) -> dict[str, Any]:
    return {"fields": [{"label": f"Field {number}", "type": "Text", **more} for number in range(count)]}


def changed(body: bytes) -> object:
    serializer = FormChanges(data=parse_object(body))
    return serializer.is_valid() or serializer.errors


JSON_SHAPES = bodies(
    *(around('{"a":' + token + '"', '\\"') for token in ("NaNx", "1e999x", "-Infinityx", "9" * 4301 + "x")),
    *(around('{"a":NaNx', piece) for piece in ('"', '"\\', "\\", '""', "a ", ",", '"a":')),
    *(around("", piece) for piece in ("[", '{"a":', '{"a":[', "1", "-", "1e", '"', "\\u", "\ufeff", " ", "\n", "9.")),
    *(around('{"a":"', piece, '"}') for piece in ("\\ud800", "\\u0000", "\\n", "é", "\u0301", "[", "{", "\\\\")),
    *(around('{"a":[', piece, "0]}") for piece in ("[],", "{},", "0,", '"",', "1.5,", "null,")),
    around("{", '"a":1,', '"b":2}'),
    around('{"a":', "9", "}"),
    around('{"a":1.', "9", "}"),
)
MULTIPART_SHAPES = bodies(
    around("", f"--{BOUNDARY}\r\n"),
    around("", f"{HEAD}\r\n\r\n1\r\n", END),
    around("", f'{HEAD}; filename=""\r\n\r\n\r\n', END),
    *(around(f"{HEAD}\r\n\r\n", piece, END) for piece in ("\r\n--", f"--{BOUNDARY[:-1]}", "\r", "\n", "-")),
    *(around(f"{HEAD}\r\n\r\n1\r\n--{BOUNDARY}", piece, END) for piece in (" ", "\t ", "-", "\r", "x")),
    *(around(f"{HEAD}\r\n\r\n", f"\r\n--{BOUNDARY}{end}", END) for end in ("x", "-", "\r", " ")),
    *(around(f"{start}\r\n", piece, f"\r\n--{BOUNDARY}--") for start in ("", END) for piece in ("\r\n", "x", "-")),
    *(around(HEAD, piece, f"\r\n\r\nx{END}") for piece in ("; a=b", ";", '"', "\\", " ", "%", "\r\n ", "''")),
    *(around(f"{HEAD}\r\n", piece, f"\r\n\r\nx{END}") for piece in ("a: b\r\n", ":", "a:")),
    *(
        around(f"{start}Content-Transfer-Encoding: base64\r\n\r\n", piece, END)
        for start in (f"{HEAD}\r\n", FILE)
        for piece in ("\n", " ", "a", "a\n", "a" * 63 + "   ", "=")
    ),
)
NAMES = {
    "many names": lambda size: {f"n{number}": "" for number in range(size // 12)},
    "long names": lambda size: {f"{number:03}" + "a" * 797: "" for number in range(size // 806)},
    "accents": lambda size: {f"{number}" + "\u0301\u0323" * 398: "" for number in range(size // 1600)},
    "rising accents": lambda size: {
        f"{number}" + "\u0301" * 399 + "\u0323" * 399: "" for number in range(size // 1600)
    },
    "a list": lambda size: {"a": ["x"] * (size // 5)},
    "lists": lambda size: {f"n{number}": [""] * (size // 1000) for number in range(200)},
}
FORM_SHAPES = (
    lambda size: form_fields(size // 40),
    lambda size: form_fields(200, name="a" * (size // 200 - 40)),
    lambda size: {"fields": [{"label": "!", "type": "Text"}] * min(200, size // 40)},
    lambda size: {"fields": [0] * (size // 3)},
    lambda size: form_fields(1, options=["x"] * (size // 5)),
    lambda size: {"allowedOrigins": ["https://a.example"] * (size // 22)},
    lambda size: {"name": "\u0301\u0323" * (size // 12)},
    lambda size: {f"unknown {number}": 0 for number in range(size // 20)},
)


def shapes(*makers: Callable[[int], Any]) -> Callable[[int], Iterator[bytes]]:
    return lambda size: (part for make in makers for part in json_of(make)(size))


def query(use: Callable[[QueryDict], object]) -> Call:
    return lambda text: use(QueryDict(text))


HARMLESS_JSON = json.dumps({f"field {number}": fill(SENTENCE, size=1280) for number in range(200)}).encode()
HARMLESS_FORM = urlencode({f"field {number}": fill(SENTENCE, size=1000) for number in range(200)}).encode()
HARMLESS_PARTS = "".join(
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f{number}"\r\n\r\n{fill(SENTENCE, size=1200)}\r\n'
    for number in range(200)
)
HARMLESS_CHANGES = json.dumps(form_fields(200, options=OPTIONS[:90])).replace("Text", "Select").encode()
PROSE = fill(SENTENCE)
URL_PIECES = ("https://", "a.", "[", "::", "%", "@", ":", "/", "?", "#", "ß", "xn--", ".")

PARSERS: dict[str, Row] = {
    "JSON": Row(parse_object, HARMLESS_JSON, JSON_SHAPES),
    "submitted JSON": Row(taken_in, HARMLESS_JSON, JSON_SHAPES),
    "names": Row(taken_in, HARMLESS_JSON, shapes(*NAMES.values())),
    "urlencoded": Row(
        posted(URLENCODED),
        HARMLESS_FORM,
        bodies(*(around("a=", piece) for piece in ("&", "a&", "=", "%", "%4", "+", "%00", "a=1&", ";", "é", "&&a"))),
    ),
    "multipart": Row(
        posted(f"{MULTIPART}; boundary={BOUNDARY}"),
        (HARMLESS_PARTS + END.lstrip()).encode(),
        MULTIPART_SHAPES,
    ),
    "a form's changes": Row(changed, HARMLESS_CHANGES, shapes(*FORM_SHAPES)),
    "spam rules": Row(
        judged, (PROSE, USUAL), lambda size: ((text, STRICT) for text in hostile_texts(("a ", "!!", "www."), size))
    ),
    "client text": Row(clean_text, PROSE, texts("\0", "\ud800", "é", "\u0301")),
    "names of people": Row(clean_name, PROSE, texts("\u0301", "\u0323", "e\u0301")),
    "search text": Row(lambda text: search_text([text]), PROSE, texts("İ", "\x1f", "ﬃ", "ß")),
    "CSV cells": Row(safe_cell, PROSE, texts(";", " ", "'", "=", ";'", "\t", "\u200b", ";x")),
    "subjects": Row(one_line, PROSE, texts("\n", " ", "\u2028", "\x00a", "a ")),
    "redirects": Row(
        lambda text: redirect_target({"_next": text}, {}, page="https://a.example/", allowed_origins=[], default=""),
        PROSE,
        texts(*URL_PIECES),
    ),
    "origins": Row(lambda text: is_allowed(text, ["https://*.example.com"] * 50), PROSE, texts(*URL_PIECES, "*.")),
    "referers": Row(origin_of, PROSE, texts(*URL_PIECES)),
    "webhook URLs": Row(parse_url, PROSE, texts(*URL_PIECES)),
    "emails": Row(is_email, PROSE, texts("a@", "a.", "@b.", '"', "-")),
    "mail addresses": Row(validate_email, PROSE, texts("a@", "a.", "@b.", '"', "-")),
    "URLs": Row(is_url, PROSE, texts(*URL_PIECES)),
    "web addresses": Row(is_web_address, PROSE, texts(*URL_PIECES)),
    "numbers": Row(is_number, fill("1"), texts("1", ".", "e", "+", "1.", "٣")),
    "dates": Row(parse_date, PROSE, texts("2026-", "01-", "9")),
    "slugs": Row(slugify, PROSE, texts("-", " -", "_", "é", "\u0301", "a-")),
    "addresses of organizations": Row(validate_slug, fill("a-b"), texts("-", "a", "_")),
    "ids": Row(lambda text: decode_id(Prefix.FORM, text), PROSE, texts("frm_", "0", "_")),
    "tokens": Row(is_well_formed, PROSE, texts("fp_", "pub_", "a", "_")),
    "stamps": Row(lambda text: stamps.read("frm_x", text), PROSE, texts(":", ".", "a", "=", "-", ".a:")),
    "proofs of work": Row(
        lambda text: require_proof({"_altcha": text}, purposes=[""], used_by=""), PROSE, texts("a", "=", "e30", "A" * 4)
    ),
    "logged errors": Row(without_detail, PROSE, texts("DETAIL:", "\nCONTEXT", "\n\nThe abov", "\nHINT")),
    "Retry-After": Row(
        lambda text: parse_retry_after(text, now()), PROSE, texts("1", "Sun, ", "(", ",", "-", ":", "+", " ", "GMT ")
    ),
    "ETags": of_a_head(parse_etags, '"abc", ', '"', 'W/"', ",", " "),
    "paths": of_a_head(lambda text: resolve(f"/{text}"), SENTENCE, *("/", "api/", "f/", "forms.", "a", "-", "o/")),
    "query parameters": of_a_head(
        query(lambda found: refuse_unknown_parameters(found, ["page", "limit"])),
        f"q={quote('Ἄνδρα μοι ἔννεπε')}",
        *("&", "a", "=", "%", "page=1&", "a=&", "%u"),
    ),
    "cookies": of_a_head(
        with_header("cookie", lambda request: request.COOKIES), "name=value; ", *(";", "=", '"', "\\", "a=;", "a")
    ),
    "Accept": of_a_head(as_the_web_role("HTTP_ACCEPT"), "text/html;q=0.9, ", *(",", ";", "a/b,", 'a;"', "*/*;")),
    "Content-Type": of_a_head(
        as_the_web_role("CONTENT_TYPE"), f"{MULTIPART}; boundary={BOUNDARY}", *(";", 'a;"', "a*=b;", ";a*0=b")
    ),
    "X-Forwarded-For": of_a_head(
        with_header("x-forwarded-for", client_network), "192.0.2.1, ", *(",", ":", "1.", "::ffff:", "%")
    ),
    "Idempotency-Key": of_a_head(with_header("idempotency-key", idempotency_key), SENTENCE, "a", " ", "\x7f"),
    **{f"values of {kind}": Row(checked_as(kind), many(KINDS[kind].example), values_of(kind)) for kind in KINDS},
}


def negotiated(request: Any) -> object:
    request.accepts("text/html")
    return DefaultContentNegotiation().select_renderer(Request(request), [JSONRenderer()])


@pytest.fixture(autouse=True)
def one_proxy(settings: Any) -> None:
    settings.TRUSTED_PROXY_COUNT = 1


@pytest.mark.parametrize("name", PARSERS)
def test_parser__hostile_input__costs_no_more_than_its_size(name: str) -> None:
    row = PARSERS[name]

    assert too_expensive(row.call, row.harmless, row.hostile, row.size) == ""


def test_parsers__of_every_field_type__are_in_the_table() -> None:
    assert {f"values of {kind.value}" for kind in FieldType} <= set(PARSERS)


def test_costs__a_quadratic_scan__is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs several times the bound, even next to a busy neighbor, and is tried only twice."""
    monkeypatch.setattr(costs, "MOST_TRIES", 2)

    def quadratic(text: str) -> int:
        return sum(len(text[place:]) for place in range(0, len(text), 2))

    assert too_expensive(quadratic, "", texts("a")).startswith("262,144 of 'aaa")
