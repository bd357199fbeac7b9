"""
Containers of files: the directories of ZIP and OLE files, read within bounds. Nothing is unpacked.

https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT,
https://learn.microsoft.com/openspecs/windows_protocols/ms-cfb/
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from submissions.files.file_types import EXTENSIONS, OFFICE, OLE, OLE_STREAMS, ZIP, RefusedContent

MAX_ENTRIES = 65_535
MAX_DIRECTORY = 8 * 1024 * 1024  # bytes
MAX_SECTORS = 1024  # of an OLE directory
_END = struct.Struct("<4s4H2LH")  # end of the central directory
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_TAIL = _END.size + 65_535  # bytes, within which the end begins
_TRIES = 16  # comments may hold further signatures
_MIMETYPE_SIZE = 100  # bytes, of the member `mimetype` at most
_DOCUMENTS = ("application/vnd.oasis.opendocument.", "application/epub+zip")
_PROGRAM_MEMBERS = frozenset(
    [
        "meta-inf/manifest.mf",  # Java
        "web-inf/web.xml",
        "androidmanifest.xml",
        "classes.dex",
        "appxmanifest.xml",
        "appxblockmap.xml",
        "appxmetadata/appxbundlemanifest.xml",
        "extension.vsixmanifest",
        "install.rdf",
    ]
)
_INSTALLER = bytes.fromhex("100c0000000000c000000000000046")  # class of MSI, MSP and MST roots, but its first byte
_INSTALLER_TABLE = "\u4840"  # begins the names of their tables


@dataclass(frozen=True, slots=True)
class _Directory:
    entries: int
    data: bytes
    shift: int  # bytes before the ZIP


def zip_type(file: IO[bytes], size: int) -> str:
    """Return the media type of a ZIP by the names of its members. Raises RefusedContent."""
    directory = _zip_directory(file, size)
    if directory is None:
        raise RefusedContent("damaged")
    names, mimetype = set[str](), ""
    for name, method, length, offset in _members(directory):
        names.add(name)
        if name == "mimetype" and method == 0 and length <= _MIMETYPE_SIZE:
            mimetype = _stored(file, offset + directory.shift, length)
    if names & _PROGRAM_MEMBERS or any(name.startswith("payload/") and ".app/" in name for name in names):
        raise RefusedContent("program")
    if "[content_types].xml" in names:
        return _office_type(names)
    is_document = mimetype.startswith(_DOCUMENTS) and mimetype in EXTENSIONS
    return mimetype if is_document else ZIP


def ends_with_zip(file: IO[bytes], size: int) -> bool:
    """Return whether a file is also a ZIP, which programs read from its end. Raises RefusedContent."""
    return _zip_directory(file, size) is not None


def _office_type(names: set[str]) -> str:
    families = [OFFICE[family] for family in OFFICE if any(name.startswith(family) for name in names)]
    if len(families) != 1:
        return ZIP
    if "xl/workbook.bin" in names:
        return "application/vnd.ms-excel.sheet.binary.macroEnabled.12"
    plain, with_macros = families[0]
    has_macros = any(name.endswith("vbaproject.bin") or name.startswith("xl/macrosheets/") for name in names)
    return with_macros if has_macros else plain


def _zip_directory(file: IO[bytes], size: int) -> _Directory | None:
    """Return the directory at the end of a ZIP; None if there is none that holds together."""
    first = max(0, size - _TAIL)
    file.seek(first)
    tail = file.read(_TAIL)
    place = len(tail)
    for _ in range(_TRIES):
        place = tail.rfind(b"PK\x05\x06", 0, place)
        if place < 0:
            break
        if found := _directory_before(file, first + place, tail[place : place + _END.size]):
            return found
    return None


def _directory_before(file: IO[bytes], end: int, record: bytes) -> _Directory | None:
    if len(record) < _END.size:
        return None
    entries, length, offset = _END.unpack(record)[4:7]
    if entries == 0xFFFF or 0xFFFFFFFF in (length, offset):
        end, entries, length, offset = _end64(file, end) or (end, entries, length, offset)
    start = end - length
    if start < 0 or offset > start:
        return None
    file.seek(start)
    begins = file.read(4) == b"PK\x01\x02"
    if not begins and (entries or length):
        return None
    if entries > MAX_ENTRIES or length > MAX_DIRECTORY:
        raise RefusedContent("damaged")
    file.seek(start)
    return _Directory(entries, file.read(length), start - offset)


def _end64(file: IO[bytes], end: int) -> tuple[int, int, int, int] | None:
    """Return (end, entries, length, offset) of a ZIP64 directory; its end record is just before its locator."""
    before = end - _LOCATOR.size - _END64.size
    if before < 0:
        return None
    file.seek(before)
    record, locator = file.read(_END64.size), file.read(_LOCATOR.size)
    if not (record.startswith(b"PK\x06\x06") and locator.startswith(b"PK\x06\x07")):
        return None
    entries, length, offset = _END64.unpack(record)[7:10]
    return before, entries, length, offset


def _members(directory: _Directory) -> Iterator[tuple[str, int, int, int]]:
    """Yield (name in lower case, method, packed size, offset) of each member. Raises RefusedContent."""
    place, data = 0, directory.data
    for _ in range(directory.entries):
        if data[place : place + 4] != b"PK\x01\x02" or len(data) < place + _ENTRY.size:
            raise RefusedContent("damaged")
        fields = _ENTRY.unpack_from(data, place)
        method, length, name_size, offset = fields[4], fields[8], fields[10], fields[16]
        first = place + _ENTRY.size
        name = data[first : first + name_size].decode("latin-1").lower().replace("\\", "/").lstrip("./")
        yield name, method, length, offset
        place = first + name_size + fields[11] + fields[12]


def _stored(file: IO[bytes], offset: int, length: int) -> str:
    """Return the text of a member that is stored as it is."""
    file.seek(offset)
    head = file.read(30)
    if len(head) < 30 or not head.startswith(b"PK\x03\x04"):
        return ""
    name_size, extra_size = struct.unpack_from("<2H", head, 26)
    file.seek(offset + 30 + name_size + extra_size)
    return file.read(length).decode("latin-1").strip()


def ole_type(file: IO[bytes]) -> str:
    """Return the media type of an OLE file (Office before 2007, Outlook) by its streams. Raises RefusedContent."""
    entries = list(_ole_entries(file))
    if not entries:
        raise RefusedContent("damaged")
    names = {name for name, _ in entries}
    if entries[0][1][1:] == _INSTALLER or any(name.startswith(_INSTALLER_TABLE) for name in names):
        raise RefusedContent("program")
    return next((media_type for name, media_type in OLE_STREAMS.items() if name in names), OLE)


def _ole_entries(file: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, class) of the directory, the root first, as far as it is readable."""
    file.seek(0)
    head = file.read(512)
    if len(head) < 512:
        return
    shift, sector = struct.unpack_from("<H", head, 30)[0], struct.unpack_from("<L", head, 48)[0]
    if shift not in (9, 12):
        return
    tables = struct.unpack_from("<109L", head, 76)
    for _ in range(MAX_SECTORS):
        file.seek((sector + 1) << shift)
        data = file.read(1 << shift)
        for place in range(0, len(data) - 127, 128):
            length = struct.unpack_from("<H", data, place + 64)[0]
            name = data[place : place + min(max(length - 2, 0), 62)].decode("utf-16-le", errors="replace")
            yield name, data[place + 80 : place + 96]
        table, position = divmod(sector, 1 << (shift - 2))
        if not data or table >= len(tables):
            return
        file.seek(((tables[table] + 1) << shift) + 4 * position)
        following = file.read(4)
        if len(following) < 4 or (sector := struct.unpack("<L", following)[0]) >= 0xFFFFFFFA:
            return
