"""Files of many types as bytes, and the answers of `submissions.files.content` about them."""

import io
import struct
import zipfile
from typing import Any

import pytest
from PIL import Image

from submissions.files.content import detect, fits
from submissions.files.file_types import OOXML, RefusedContent

DOCX = f"{OOXML}wordprocessingml.document"
XLSX = f"{OOXML}spreadsheetml.sheet"
ODT = "application/vnd.oasis.opendocument.text"
MSI = bytes.fromhex("84100c0000000000c000000000000046")
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< >>\nendobj\n\0"
EXE = b"MZ\x90\0\x03\0\0\0" + bytes(56) + b"PE\0\0"


def picture(kind: str, size: tuple[int, int] = (9, 9), **more: Any) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, kind, **more)
    return file.getvalue()


def zipped(*names: str, mimetype: str = "", compression: int = zipfile.ZIP_STORED, content: bytes = b"x") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        if mimetype:
            archive.writestr(zipfile.ZipInfo("mimetype"), mimetype)
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


def office(family: str, *more: str) -> bytes:
    return zipped("[Content_Types].xml", "_rels/.rels", f"{family}/main.xml", *more)


def ole(*names: str, root_class: bytes = bytes(16)) -> bytes:
    """A compound file: its head, one table of sectors, and a directory of as many sectors as needed."""
    entries = [("Root Entry", 5, root_class), *((name, 2, bytes(16)) for name in names)]
    raw = b"".join(ole_entry(*entry) for entry in entries)
    raw += bytes(-len(raw) % 512)
    count = len(raw) // 512
    table = [0xFFFFFFFD, *range(2, count + 1), 0xFFFFFFFE]
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    head += struct.pack("<5L", 1, 1, 0, 4096, 0xFFFFFFFE) + struct.pack("<3L", 0, 0xFFFFFFFE, 0)
    head += struct.pack("<109L", 0, *[0xFFFFFFFF] * 108)
    return head + struct.pack("<128L", *table, *[0xFFFFFFFF] * (128 - len(table))) + raw


def ole_entry(name: str, kind: int, root_class: bytes) -> bytes:
    encoded = (name + "\0").encode("utf-16-le")
    return (
        encoded.ljust(64, b"\0")
        + struct.pack("<HBB3L", len(encoded), kind, 1, *[0xFFFFFFFF] * 3)
        + root_class
        + bytes(32)
    )


def media(brand: bytes, *more: bytes) -> bytes:
    brands = b"".join(more)
    return struct.pack(">L", 16 + len(brands)) + b"ftyp" + brand + bytes(4) + brands + bytes(99)


def type_of(data: bytes, name: str = "upload") -> str:
    file = io.BytesIO(data)
    file.seek(3)
    found = detect(file, name)
    assert file.tell() == 0
    return found.media_type


def reason_of(data: bytes, name: str = "upload") -> str:
    file = io.BytesIO(data)
    with pytest.raises(RefusedContent) as refused:
        detect(file, name)
    assert file.tell() == 0
    assert str(refused.value).endswith(".")
    return refused.value.reason


def is_accepted(data: bytes, name: str, *accept: str) -> bool:
    return fits(detect(io.BytesIO(data), name), name, accept)
