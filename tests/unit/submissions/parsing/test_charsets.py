"""Forms in an old charset: of pages that name it, and of those that do not."""

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from urllib.parse import quote_from_bytes

import pytest
from django.core.handlers.wsgi import WSGIRequest
from webencodings import LABELS

from submissions.hosted.bodies import MULTIPART, URLENCODED, parse_form_body
from submissions.parsing.charsets import UNMAPPED, decode
from submissions.receiving.parse_body import Body
from tests.support.costs import fill, hostile_texts, too_expensive

Encoded = list[tuple[bytes, bytes]]
SINGLE_BYTE = re.compile(r"windows-|iso-8859-|koi8|ibm|macintosh|x-mac")  # tables of the same decoder
TEXTS = {  # of a page in this charset, as its label says
    "windows-1252": "größe · José €",
    "iso-8859-1": "größe · José €",  # which is windows-1252 for browsers
    "Shift_JIS": "表示ソフト「名前」",  # with bytes of a backslash
    "gbk": "联通 简体",
    "big5": "許功蓋",
    "euc-kr": "한국어 똠",
    "koi8-r": "Привет",
    "iso-8859-2": "żółw",
    "windows-1256": "مرحبا",
    "iso-2022-jp": "日本",
    "utf-8": "größe 🎉",
}
CODECS = {"iso-8859-1": "cp1252", "windows-1252": "cp1252", "Shift_JIS": "cp932", "euc-kr": "cp949"}


def parsed(body: bytes, content_type: str) -> Body:
    environ = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": content_type, "wsgi.input": BytesIO()}
    found = parse_form_body(WSGIRequest(environ), body)
    for file in found.files:
        file.content.close()
    return found


def urlencoded(values: Encoded, parameters: str = "") -> Body:
    body = b"&".join(f"{quote_from_bytes(name)}={quote_from_bytes(value)}".encode() for name, value in values)
    return parsed(body, URLENCODED + parameters)


def multipart(values: Encoded, parameters: str = "", head: bytes = b"", file: bytes = b"") -> Body:
    named = b'; filename="' + file + b'"' if file else b""
    parts = [
        b'--BB\r\nContent-Disposition: form-data; name="' + name + b'"' + named + head + b"\r\n\r\n" + value + b"\r\n"
        for name, value in values
    ]
    return parsed(b"".join(parts) + b"--BB--\r\n", f"{MULTIPART}; boundary=BB{parameters}")


@pytest.mark.parametrize("label", TEXTS)
def test_form__that_names_its_charset__is_stored_as_the_text(label: str) -> None:
    text = TEXTS[label]
    sent = text.encode(CODECS.get(label, label))
    field = (b"_charset_", label.encode())

    for found in (urlencoded([(sent, sent), field]), multipart([(sent, sent), field])):
        assert found.fields == {text: text, "_charset_": label}
    for parameters in (f"; charset={label}", f'; Charset="{label.upper()}"'):
        assert urlencoded([(sent, sent)], parameters).fields == {text: text}
        assert multipart([(sent, sent)], parameters).fields == {text: text}
    assert multipart([(b"a", sent)], head=b"\r\nContent-Type: text/plain; charset=" + label.encode()).fields == {
        "a": text
    }


def test_form__without_a_charset__is_utf_8_or_else_windows_1252_text_by_text() -> None:
    sent = [(b"gr\xf6\xdfe", b"Jos\xe9 \x80"), (b"b", "é 🎉".encode()), (b"c", b"\x81\x8d\xff")]

    for found in (urlencoded(sent), multipart(sent)):
        assert found.fields == {"größe": "José €", "b": "é 🎉", "c": "\x81\x8dÿ"}


def test_urlencoded_form__of_raw_bytes__is_read_as_well() -> None:
    assert parsed(b"a=Jos\xe9&b=\xc3\xa9+%", URLENCODED).fields == {"a": "José", "b": "é %"}


def test_file__whose_name_is_in_an_old_charset__arrives_with_it() -> None:
    name = "größe José.pdf".encode("cp1252")

    for found in (
        multipart([(b"f\xfc", b"%PDF")], file=name),
        multipart([(b"f\xfc", b"%PDF")], "; charset=iso-8859-1", file=name),
    ):
        assert [(file.field, file.name) for file in found.files] == [("fü", "größe José.pdf")]
    [shift_jis] = multipart([(b"f", b"x")], "; charset=shift_jis", file="表.txt".encode("cp932")).files
    assert shift_jis.name == "表.txt"


def test_name__in_utf_8_next_to_a_value_of_another_charset__stays() -> None:
    """Some libraries write heads in UTF-8 and declare the values' charset in each part."""
    head = b"\r\nContent-Type: text/plain; charset=ISO-8859-1"

    assert multipart([("größe".encode(), b"Jos\xe9")], head=head).fields == {"größe": "José"}
    assert multipart([(b"gr\xf6\xdfe", b"Jos\xe9")], head=head).fields == {"größe": "José"}


def test_name__that_is_not_utf_8__is_of_the_charset_of_its_part() -> None:
    for label, name, text in ((b"koi8-r", "имя".encode("koi8-r"), "имя"), (b"utf-8", b"gr\xf6\xdfe", "größe")):
        head = b"\r\nContent-Type: text/plain; charset=" + label
        assert multipart([(name, b"1")], head=head).fields == {text: "1"}


@pytest.mark.parametrize("encode", [urlencoded, multipart])
def test_names__that_clean_to_one__are_one_with_a_list(encode: Callable[[Encoded], Body]) -> None:
    sent = [("é".encode(), b"1"), ("e\u0301".encode(), b""), (b"c\0", b"2"), (b"b", b""), (b"c", b"3"), (b"c", b"4")]

    assert encode(sent).fields == {"é": ["1", ""], "c": ["2", "3", "4"], "b": ""}


@pytest.mark.parametrize(
    "label",
    [
        "hz-gb-2312",
        "iso-2022-kr",
        "replacement",
        "utf-7",
        "punycode",
        "rot13",
        "idna",
        "unicode_escape",
        "hex",
        "x" * 300,
        "é",
        "\0",
    ],
)
def test_charset__that_no_browser_knows__does_not_count(label: str) -> None:
    sent = [(b"a", b"Jos\xe9 +AGE- \\u0041"), (b"_charset_", label.encode())]

    assert urlencoded(sent).fields["a"] == "José +AGE- \\u0041"
    assert multipart(sent).fields["a"] == "José +AGE- \\u0041"


def test_windows_1252__has_every_byte() -> None:
    text = decode(bytes(range(0x80, 0x100)), ["\t"])

    assert (len(set(text)), text[:2], "\ufffd" in text) == (128, "€\x81", False)
    assert all(UNMAPPED[byte] == chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D))


@pytest.mark.slow
@pytest.mark.parametrize("charset", sorted(name for name in set(LABELS.values()) if not SINGLE_BYTE.match(name)))
def test_charset__hostile_bytes__cost_no_more_than_their_size(charset: str) -> None:
    def hostile(size: int) -> Iterator[bytes]:
        return (text.encode("latin-1") for text in hostile_texts(("\x1b$B", "\x1b(J", "\x81", "\xff0"), size))

    assert too_expensive(lambda data: decode(data, [charset]), fill("A sentence. ").encode(), hostile) == ""
