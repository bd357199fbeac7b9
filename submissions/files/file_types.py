"""
Tables of file types: signatures, extensions, and refusals. Refused names are in `forms_app.file_fields.refused`.

Sources: the registrations of the types, and https://www.garykessler.net/library/file_sigs.html.
"""

from typing import Literal

from django.utils.translation import gettext, gettext_noop

Reason = Literal["html", "script", "program", "second_file", "macros", "damaged"]


MESSAGES: dict[Reason, str] = {
    "html": gettext_noop("HTML and SVG files are not accepted. Send the file in another format, for instance PDF."),
    "script": gettext_noop("Scripts and shortcuts to programs are not accepted."),
    "program": gettext_noop("Programs, installers and disk images are not accepted."),
    "second_file": gettext_noop("The file holds a second file of another type. Save it again, then send the new file."),
    "macros": gettext_noop("The document has macros, and its name does not say so. Save it without macros."),
    "damaged": gettext_noop("The file is damaged, or has too many parts. Save it again, then send the new file."),
}


class RefusedContent(Exception):
    """A file of a kind that is never accepted. The message is for the sender."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(gettext(MESSAGES[reason]))
        self.reason = reason


def _ordered(text: str) -> tuple[str, ...]:
    return tuple(f".{word}" for word in text.split())


# (offset, bytes) of programs, installers, disk images and compiled code. MZ and scripts have rules besides.
PROGRAMS = (
    (0, b"\x7fELF"),
    (0, (b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe")),  # Mach-O
    (0, (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")),  # Java class, Mach-O for several processors
    (0, b"\xca\xfe\xd0\x0d"),  # packed JAR
    (0, b"\0asm"),
    (0, b"dex\n"),
    (0, b"BC\xc0\xde"),  # LLVM
    (0, b"\x1bLua"),
    (0, b"L\0\0\0\x01\x14\x02\0"),  # link of Windows
    (0, b"ITSF"),  # compiled HTML help
    (0, b"MSCF"),  # cabinet
    (0, b"ISc("),  # cabinet of InstallShield
    (0, b"Cr24"),  # extension of Chromium
    (0, b"xar!"),  # package of macOS
    (0, b"!<arch>\n"),  # deb, static library
    (0, b"\xed\xab\xee\xdb"),  # rpm
    (0, b"hsqs"),  # squashfs: snap
    (0, b"vhdxfile"),
    (0, b"conectix"),
    (0, b"QFI\xfb"),
    (32769, b"CD001"),  # ISO 9660
)
FLASH = (b"FWS", b"CWS", b"ZWS")

OOXML = "application/vnd.openxmlformats-officedocument."
OLE = "application/x-ole-storage"
ENCRYPTED = "application/encrypted"
ZIP = "application/zip"
XML = "application/xml"
PDF = "application/pdf"
TEXT = "text/plain"
UNKNOWN = "application/octet-stream"

SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, (b"GIF87a", b"GIF89a"), "image/gif"),
    (0, (b"II*\0", b"MM\0*"), "image/tiff"),
    (0, b"8BPS\0", "image/vnd.adobe.photoshop"),
    (0, b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (0, b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (0, b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (0, b"{\\rtf", "application/rtf"),
    (0, (b"%!PS", b"\xc5\xd0\xd3\xc6"), "application/postscript"),
    (0, (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa"), "audio/mpeg"),
    (0, (b"\xff\xf1", b"\xff\xf9"), "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (0, b"MThd", "audio/midi"),
    (0, b"#!AMR", "audio/amr"),
    (0, b"OggS", "audio/ogg"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, (b"\0\0\x01\xba", b"\0\0\x01\xb3"), "video/mpeg"),
    (0, b"0&\xb2u\x8ef\xcf\x11", "video/x-ms-asf"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"(\xb5/\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO\0", "font/otf"),
    (0, b"\0\x01\0\0\0", "font/ttf"),
    (128, b"DICM", "application/dicom"),
    (0, b"AC10", "image/vnd.dwg"),
)
RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
BRANDS = (  # of ISO media files; the first one that is found in the list of a file's brands counts
    ((b"avif", b"avis"), "image/avif"),
    ((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "image/heic"),
    ((b"crx ",), "image/x-canon-cr3"),
    ((b"M4A ", b"M4B "), "audio/mp4"),
    ((b"qt  ",), "video/quicktime"),
)

# Media type -> its extensions, the usual one first. A type that is absent here is generic: any name fits that no other
# type claims.
EXTENSIONS = {
    "image/png": _ordered("png apng"),
    "image/jpeg": _ordered("jpg jpeg jpe jfif jif mpo"),
    "image/gif": _ordered("gif"),
    "image/webp": _ordered("webp"),
    "image/bmp": _ordered("bmp dib"),
    "image/tiff": _ordered("tif tiff dng nef nrw arw sr2 cr2 pef erf"),
    "image/vnd.adobe.photoshop": _ordered("psd psb"),
    "image/jxl": _ordered("jxl"),
    "image/jp2": _ordered("jp2 jpx j2k jpf"),
    "image/vnd.microsoft.icon": _ordered("ico"),
    "image/heic": _ordered("heic heif hif"),
    "image/avif": _ordered("avif avifs"),
    "image/x-canon-cr3": _ordered("cr3"),
    "image/vnd.dwg": _ordered("dwg"),
    PDF: _ordered("pdf ai"),
    "application/rtf": _ordered("rtf doc"),  # Word saves RTF under .doc
    "application/postscript": _ordered("ps eps ai epsf"),
    "application/epub+zip": _ordered("epub"),
    "audio/mpeg": _ordered("mp3 mpga mp2"),
    "audio/aac": _ordered("aac"),
    "audio/flac": _ordered("flac"),
    "audio/midi": _ordered("mid midi kar"),
    "audio/amr": _ordered("amr"),
    "audio/ogg": _ordered("ogg oga ogv ogx opus spx"),
    "audio/wav": _ordered("wav wave"),
    "audio/mp4": _ordered("m4a m4b mp4"),
    "video/mp4": _ordered("mp4 m4v m4a mov f4v 3gp 3g2"),
    "video/quicktime": _ordered("mov qt mp4"),
    "video/webm": _ordered("webm mkv mka weba"),
    "video/mpeg": _ordered("mpg mpeg mpe vob m2p"),
    "video/x-ms-asf": _ordered("asf wmv wma"),
    "video/x-msvideo": _ordered("avi"),
    "application/x-7z-compressed": _ordered("7z"),
    "application/vnd.rar": _ordered("rar cbr"),
    "application/x-tar": _ordered("tar"),
    "font/woff": _ordered("woff"),
    "font/woff2": _ordered("woff2"),
    "font/otf": _ordered("otf"),
    "font/ttf": _ordered("ttf"),
    f"{OOXML}wordprocessingml.document": _ordered("docx dotx"),
    f"{OOXML}spreadsheetml.sheet": _ordered("xlsx xltx"),
    f"{OOXML}presentationml.presentation": _ordered("pptx potx ppsx"),
    "application/vnd.ms-visio.drawing": _ordered("vsdx vstx vssx"),
    "application/vnd.ms-word.document.macroEnabled.12": _ordered("docm dotm"),
    "application/vnd.ms-excel.sheet.macroEnabled.12": _ordered("xlsm xltm"),
    "application/vnd.ms-excel.sheet.binary.macroEnabled.12": _ordered("xlsb"),
    "application/vnd.ms-powerpoint.presentation.macroEnabled.12": _ordered("pptm potm ppsm"),
    "application/vnd.ms-visio.drawing.macroEnabled.12": _ordered("vsdm vstm vssm"),
    ENCRYPTED: _ordered("docx docm xlsx xlsm xlsb pptx pptm"),
    "application/msword": _ordered("doc dot"),
    "application/vnd.ms-excel": _ordered("xls xlt"),
    "application/vnd.ms-powerpoint": _ordered("ppt pps pot"),
    "application/vnd.ms-outlook": _ordered("msg oft"),
    "application/vnd.visio": _ordered("vsd vst vss"),
    "application/vnd.oasis.opendocument.text": _ordered("odt"),
    "application/vnd.oasis.opendocument.text-template": _ordered("ott"),
    "application/vnd.oasis.opendocument.spreadsheet": _ordered("ods"),
    "application/vnd.oasis.opendocument.spreadsheet-template": _ordered("ots"),
    "application/vnd.oasis.opendocument.presentation": _ordered("odp"),
    "application/vnd.oasis.opendocument.presentation-template": _ordered("otp"),
    "application/vnd.oasis.opendocument.graphics": _ordered("odg"),
}
# Parts of an Office ZIP -> its type without and with macros.
OFFICE = {
    "word/": (f"{OOXML}wordprocessingml.document", "application/vnd.ms-word.document.macroEnabled.12"),
    "xl/": (f"{OOXML}spreadsheetml.sheet", "application/vnd.ms-excel.sheet.macroEnabled.12"),
    "ppt/": (
        f"{OOXML}presentationml.presentation",
        "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
    ),
    "visio/": ("application/vnd.ms-visio.drawing", "application/vnd.ms-visio.drawing.macroEnabled.12"),
}
# Streams of an OLE file -> its type.
OLE_STREAMS = {
    "EncryptedPackage": ENCRYPTED,
    "WordDocument": "application/msword",
    "Workbook": "application/vnd.ms-excel",
    "Book": "application/vnd.ms-excel",
    "PowerPoint Document": "application/vnd.ms-powerpoint",
    "__properties_version1.0": "application/vnd.ms-outlook",
    "VisioDocument": "application/vnd.visio",
}
TEXT_TYPES = {  # text has no signature: its name decides, where it is one of these
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".geojson": "application/geo+json",
    ".md": "text/markdown",
    ".ics": "text/calendar",
    ".vcf": "text/vcard",
    ".eml": "message/rfc822",
}
_USUAL = {TEXT: ".txt", XML: ".xml", ZIP: ".zip", ENCRYPTED: ""}  # an encrypted document may be of any kind
CLAIMED = frozenset().union(*EXTENSIONS.values())  # extensions that promise content with a signature
TEXT_NAMES = frozenset({*TEXT_TYPES, ".txt", ".xml"})  # extensions that promise text
ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "image/heif": "image/heic",
    "image/x-icon": "image/vnd.microsoft.icon",
    "image/x-ms-bmp": "image/bmp",
    "application/x-pdf": PDF,
    "application/x-zip-compressed": ZIP,
    "application/x-rar-compressed": "application/vnd.rar",
    "application/x-gzip": "application/gzip",
    "text/rtf": "application/rtf",
    "text/xml": XML,
    "text/x-markdown": "text/markdown",
    "audio/mp3": "audio/mpeg",
    "audio/x-m4a": "audio/mp4",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "video/avi": "video/x-msvideo",
}
SAME_EXTENSIONS = {".jpeg": ".jpg", ".jpe": ".jpg", ".tiff": ".tif", ".mpeg": ".mpg"}


def usual_extension(media_type: str) -> str:
    """Return the extension of a file of this type, with its dot; "" for a type that has none."""
    return _USUAL.get(media_type, next(iter(EXTENSIONS.get(media_type, ())), ""))
