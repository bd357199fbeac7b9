"""
Previews of uploaded pictures: pixels that we encoded ourselves, so the bytes of a stranger are never shown inline.

The original is only ever sent as an attachment; see docs/adr/0091.
"""

from io import BytesIO
from typing import IO

from config.pictures.decoding import NotAPicture, TooManyPixels, decode_picture

SIDE = 1600  # pixels, of the longer side at most
MAX_PIXELS = 25_000_000  # before decoding, which takes 4 bytes each and a copy
# JPEGs are decoded smaller in the first place, progressive ones apart. Decoders of animations hold several pictures.
LIMITS = {"JPEG": 64_000_000, "progressive": MAX_PIXELS, "WEBP": 12_000_000, "GIF": 12_000_000}
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF")
PREVIEWED = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})  # media types
PREVIEW_TYPE = "image/webp"
_QUALITY, _EFFORT = 80, 2  # of WebP: effort 2 of 6 takes a third of the time of 4


class NoPreview(ValueError):
    """The file is not a picture that we decode: another format, too many pixels, truncated or hostile."""


def preview(file: IO[bytes]) -> bytes:
    """
    Return a WebP of the first picture in a file: upright, at most 1,600 pixels a side, without metadata.

    Takes at most about 260 MB of memory for the largest pictures, and seconds of a processor. Raises NoPreview.
    """
    try:
        picture = decode_picture(file, formats=FORMATS, max_pixels=MAX_PIXELS, by_kind=LIMITS, within=(SIDE, SIDE))
        encoded = BytesIO()
        picture.save(encoded, "WEBP", quality=_QUALITY, method=_EFFORT)
    except (NotAPicture, TooManyPixels):
        raise NoPreview from None
    return encoded.getvalue()
