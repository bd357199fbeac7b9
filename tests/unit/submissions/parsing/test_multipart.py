"""Bodies that browsers, libraries and attackers send as multipart/form-data, and the published vectors of a parser."""

from io import BytesIO

import pytest
from django.core.handlers.wsgi import WSGIRequest

from config.api.errors import ApiError, ValidationFailed
from submissions.hosted.bodies import parse_form_body
from submissions.parsing.multipart import CHUNK_BYTES
from submissions.receiving.parse_body import Body
from tests.corpora import corpus

Found = list[tuple[str, str | None, bytes]]  # name, name of the file, content

DISPOSITION = b"Content-Disposition: form-data; "
FILE = b'name="f"; filename="f"'


def read(body: bytes, boundary: str = "BB", kind: str = "multipart/form-data") -> Body:
    content_type = f'{kind}; boundary="{boundary}"'
    return parse_form_body(
        WSGIRequest({"REQUEST_METHOD": "POST", "CONTENT_TYPE": content_type, "wsgi.input": BytesIO()}), body
    )


def parts_of(body: Body) -> Found:
    found: Found = [(name, None, value.encode("latin-1")) for name, value in body.fields.items()]
    for file in body.files:
        found.append((file.field, file.name, file.content.read()))
        file.content.close()
    return found


def part(head: bytes, content: bytes = b"x") -> bytes:
    """Return a body of one part, whose disposition ends so; `\r\n` may begin another header."""
    return b"--BB\r\n" + DISPOSITION + head + b"\r\n\r\n" + content + b"\r\n--BB--\r\n"


def test_vectors_of_python_multipart__are_parsed_or_refused_as_they_say() -> None:
    for name, (boundary, body, expected) in corpus("python_multipart").items():
        if expected is None:
            with pytest.raises(ValidationFailed):
                read(body.encode("latin-1"), boundary)
        else:
            sent = [(field, file and file.replace("?", "_"), data.encode("latin-1")) for field, file, data in expected]
            assert parts_of(read(body.encode("latin-1"), boundary)) == sent, name


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (part(b'name="a"', b"x--BBy\r\nz"), [("a", None, b"x--BBy\r\nz")]),
        (part(b'name="a"', b"x\r\n--BBy\r\nz"), [("a", None, b"x\r\n--BBy\r\nz")]),
        (part(b'name="a"', b"\n--BB--"), [("a", None, b"\n--BB--")]),
        (part(b'name="a"', b""), [("a", None, b"")]),
        (part(b'name="a"') + b"epilogue", [("a", None, b"x")]),
        (part(b'name="a"')[:-2], [("a", None, b"x")]),
        (b"\r\n" + part(b'name="a"'), [("a", None, b"x")]),
        (part(b"name=a; filename=b.txt"), [("a", "b.txt", b"x")]),
        (part(b'filename="b.txt"; name="a"'), [("a", "b.txt", b"x")]),
        (part(b' name = "a" ;'), [("a", None, b"x")]),
        (part(b'NAME="a"').replace(b"Content-D", b"CONTENT-D"), [("a", None, b"x")]),
        # One name, whatever the body: browsers encode three characters and no backslash.
        (part(b'name="a%22b"'), [('a"b', None, b"x")]),
        (part(b'name="a%0D%0Ab"'), [("a\nb", None, b"x")]),
        (part(b'name="a%0Ab%25c%3D"'), [("a\nb%25c%3D", None, b"x")]),
        (part(rb'name="a\\b"'), [(r"a\\b", None, b"x")]),
        (part(rb'name="a\""; filename="C:\dir\b.txt"'), [('a"', "b.txt", b"x")]),
        (part(rb'name="a\"\\b"'), [(r'a"\b', None, b"x")]),
        (part(b'name=" a "'), [(" a ", None, b"x")]),
        (part(b'name=" "'), [(" ", None, b"x")]),
        (part(b'name="a"b"; filename="c"d.txt"'), [('a"b', "c_d.txt", b"x")]),
        (part(b'name="a;b"; filename="c;d.txt"'), [("a;b", "c;d.txt", b"x")]),
        (part(b'name="a"; filename="x&#937;.txt"'), [("a", "x\u03a9.txt", b"x")]),
        (part(b"name=\"a\"; filename*=UTF-8''na%C3%AFve.txt"), [("a", "na\u00efve.txt", b"x")]),
        (part(b'name="a"; filename="n.txt"; filename*=iso-8859-1\'en\'na%EFve.txt'), [("a", "na\u00efve.txt", b"x")]),
        (part(b"name*=UTF-8''gr%C3%B6%C3%9Fe"), [("größe", None, b"x")]),
        # A file input without a file is left out; content without a file's name, or of which nothing is left, is not.
        (part(b'name="a"; filename=""', b""), []),
        (part(b'name="a"; filename=""'), [("a", "", b"x")]),
        *((part(b'name="a"; filename="%b"' % name), [("a", "", b"x")]) for name in (b".", b"..", b"d/..", b"\x01")),
        (part(b'name="a"\r\nContent-Transfer-Encoding: base64', b"aMOp\r\naA==\r\n"), [("a", None, b"h\xe9h")]),
        (part(b'name="a"\r\nContent-Transfer-Encoding: QUOTED-PRINTABLE', b"a=3D=\r\nb"), [("a", None, b"a=b")]),
        (part(b'name="a"; filename="b"\r\nContent-Transfer-Encoding: 8bit'), [("a", "b", b"x")]),
        (b"--BB--\r\n", []),
        (b"", []),
    ],
)
def test_body__that_browsers_or_programs_send__is_read_whole(body: bytes, found: Found) -> None:
    assert parts_of(read(body)) == found


@pytest.mark.parametrize(
    "body",
    [
        *(part(b'name="a"', b"hello")[:-cut] for cut in (3, 4, 8, 9, 11, 13)),
        *(part(b'name="f"; filename="f.txt"', b"hello")[:-cut] for cut in (3, 4, 8, 11)),
        part(b'name="a"').replace(b"BB", b"CC"),
        part(b'name="a"').replace(b"\r\n", b"\n"),
        part(b'name="a"').replace(b'; name="a"', b';\r\n name="a"'),
        *(
            part(head)
            for head in (
                b"",
                b"filename=x",
                b"nam=a",
                b'name="a',
                b'name="a" x',
                b'name=a"b',
                b'name="a"; b"c"',
                b'name="a"; filename*0="b"; filename*1="c"',
                b"name=a; name*1*=b",
            )
        ),
        part(b'name="a"').replace(b"form-data", b"attachment"),
        part(b'name="a"').replace(b"form-data; ", b"form-data "),
        part(b'name="a"').replace(DISPOSITION + b'name="a"\r\n', b""),
        part(b'name="a"').replace(b"Content-Disposition", b"Content-Type"),
        part(b'name="a"').replace(b"Content-Disposition:", b"Content-Disposition"),
        part(b'name="a"\r\n: x'),
        part(b'name="a"\r\nX\x00Y: x'),
        part(b'name="' + b"a" * 5_000 + b'"'),
        part(b'name="a"' + b"\r\nX: y" * 20),
        *(part(b'name="a"\r\nContent-Transfer-Encoding: base64', text) for text in (b"abc", b"Jos\xe9", b"a b!c d=")),
        part(b'name="f"; filename="f"\r\nContent-Transfer-Encoding: base64', b"abcde"),
        *(part(b'name="a"', filler * 40_000 + b"\r\n--BB \r\n" + filler) for filler in (b"ab", b"a\r\n", b"--BB")),
        *(
            part(FILE, b"a" * (CHUNK_BYTES - start) + b"\r\n--BB\t\r\n" + DISPOSITION + b"name=b\r\n\r\n1")
            for start in range(len(FILE) + 37, len(FILE) + 57)
        ),
        part(b'name="f"; filename="f"', b"\r\n--BBx" * 10_001),
        b"preamble\r\n" + part(b'name="a"'),
        b"a=b&c=d",
        b'{"a": "b"}',
    ],
)
def test_body__that_is_cut_or_broken__is_malformed(body: bytes) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read(body)

    assert [(detail.field, detail.code) for detail in refused.value.details] == [("", "malformed")]


@pytest.mark.parametrize("kind", ["Multipart/Form-Data", "MULTIPART/FORM-DATA ", "multipart/form-data; charset=utf-8"])
def test_media_type__of_any_case__is_read(kind: str) -> None:
    assert read(part(b'name="a"'), kind=kind).fields == {"a": "x"}


@pytest.mark.parametrize("boundary", ["", " ", "B" * 202, "B\u00e9"])
def test_boundary__that_is_none__is_malformed(boundary: str) -> None:
    with pytest.raises(ApiError, match="Check its encoding and boundary"):
        read(part(b'name="a"'), boundary)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ([part(b'name="a"', b"")[:-8]] * 2_501, "validation_error"),
        ([part(b'name="a"', b"x" * 1_000)[:-8]] * 262, "payload_too_large"),
        ([part(b'name="' + b"a" * 1_000 + b'"', b"")[:-8]] * 262, "payload_too_large"),
        ([part(b'name="f"; filename=""', b"")[:-8]] * 101, "validation_error"),
    ],
)
def test_body__of_too_many_parts_or_too_much_text__is_refused(parts: list[bytes], code: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(b"".join(parts) + b"--BB--\r\n")

    assert refused.value.code == code


def sent_with(boundary: bytes, *parts: bytes) -> str:
    body = b"".join(b"--BB\r\n" + DISPOSITION + each + b"\r\n" for each in parts) + b"--BB--\r\n"
    found = read(body.replace(b"BB", boundary), boundary.decode())
    for arrived in found.files:
        arrived.content.close()
    return found.digest()


def test_digest__of_another_boundary__is_the_same_and_of_other_parts_another() -> None:
    text, file = b'name="a"\r\n\r\n1', b'name="f"; filename="f.txt"\r\n\r\n2'
    others = [
        (file, text),
        (text, file, text),
        (text,),
        (b'name="a"\r\n\r\n2', file),
        (b'name="b"\r\n\r\n1', file),
        (text, file.replace(b"2", b"3")),
        (text, file.replace(b"f.txt", b"g.txt")),
        (text, file.replace(b'="f"', b'="g"')),
    ]

    assert sent_with(b"BB", text, file) == sent_with(b"----other", text, file)
    assert len({sent_with(b"BB", *parts) for parts in [(text, file), *others]}) == 1 + len(others)
