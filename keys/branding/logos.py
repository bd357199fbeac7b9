"""
Uploaded logos: any file -> a small PNG that holds pixels and nothing else, or a refusal.

The bytes of a stranger are decoded once, here, and never served: a file that is also a script or a page, and the
metadata of a camera, end with it.
"""

import dataclasses
import hashlib
from io import BytesIO

from django.utils.translation import gettext, gettext_noop
from PIL import Image

from config.pictures.decoding import NotAPicture, TooManyPixels, decode_picture
from keys.branding.colors import luminance

MAX_UPLOAD_BYTES = 1_000_000
MAX_PIXELS = 4_000_000  # before decoding: 16 MB of memory
WIDTH, HEIGHT = 480, 160  # pixels, of the stored PNG at most
MAX_STORED_BYTES = 100_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
DARK, LIGHT = "dark", "light"  # tones of transparent logos that vanish on such a page
DARK_BELOW, LIGHT_ABOVE = 0.12, 0.45  # of the mean luminance: with 3 to 1 or less on such a page
TOO_LARGE = gettext_noop("The file is larger than 1 MB. Save the logo smaller, then choose it again.")
TOO_MANY_PIXELS = gettext_noop("The picture has more than 4 million pixels. Save it smaller, then choose it again.")
_SAMPLE = (48, 16)  # pixels that the tone is taken from
_SEEN = 64  # alpha (0 to 255) from which a pixel counts as ink


class UnfitLogo(ValueError):
    """The file is not a logo that can be used. The message says what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class LogoImage:
    """`png`: the stored bytes. `tone`: `dark` or `light` for a transparent logo that is nearly that, else empty."""

    png: bytes
    width: int
    height: int
    tone: str

    @property
    def name(self) -> str:
        """The name in its address: a hash of the bytes, the size, and the tone."""
        digest = hashlib.sha256(self.png).hexdigest()[:32]
        return "-".join(filter(None, [digest, f"{self.width}x{self.height}", self.tone]))


def read_logo(data: bytes) -> LogoImage:
    """Return a file as a logo: its first picture, upright, at most 480 x 160 pixels. Raises UnfitLogo."""
    if len(data) > MAX_UPLOAD_BYTES:
        raise UnfitLogo(gettext(TOO_LARGE))
    picture = _decoded(data)
    picture.thumbnail((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    return LogoImage(_as_png(picture), picture.width, picture.height, _tone(picture))


def _decoded(data: bytes) -> Image.Image:
    try:
        return decode_picture(BytesIO(data), formats=FORMATS, max_pixels=MAX_PIXELS)
    except TooManyPixels:
        raise UnfitLogo(gettext(TOO_MANY_PIXELS)) from None
    except NotAPicture:
        raise UnfitLogo(gettext("The file is not a PNG, JPEG, WebP or GIF picture. Choose another one.")) from None


def _as_png(picture: Image.Image) -> bytes:
    """Return a PNG, with 256 colors if it is too large otherwise."""
    for version in (picture, picture.quantize(256, method=Image.Quantize.FASTOCTREE)):
        file = BytesIO()
        version.save(file, "PNG", optimize=True)
        if file.tell() <= MAX_STORED_BYTES:
            break
    return file.getvalue()


def _tone(picture: Image.Image) -> str:
    sample = picture.resize(_SAMPLE)
    pixels = list(zip(*[iter(sample.tobytes())] * 4, strict=True))
    seen = [luminance((red, green, blue)) for red, green, blue, alpha in pixels if alpha >= _SEEN]
    if not seen or len(seen) == len(pixels):  # opaque: it brings its own background
        return ""
    mean = sum(seen) / len(seen)
    return DARK if mean < DARK_BELOW else LIGHT if mean > LIGHT_ABOVE else ""
