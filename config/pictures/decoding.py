"""
Pictures of strangers: any file -> the pixels of its first picture, upright, without metadata, or a refusal.

Formats and pixels are bounded before a pixel is decoded. Nothing of the file but its pixels is in the result.
"""

from collections.abc import Collection, Mapping
from typing import IO

from PIL import Image, ImageOps

_SMOOTH = {"RGB", "RGBA", "L", "LA"}  # modes that are resized smoothly as they are
_SHORTENED = {"I;16", "I;16B", "I;16L", "I;16N"}  # gray in 16 bits, which Pillow cuts off instead of scaling


class NotAPicture(ValueError):
    """The file is of another format, truncated or hostile."""


class TooManyPixels(ValueError):
    """The picture has more pixels than allowed, or more than Pillow opens."""


def decode_picture(
    file: IO[bytes],
    *,
    formats: Collection[str],
    max_pixels: int,
    by_kind: Mapping[str, int] | None = None,
    within: tuple[int, int] | None = None,
) -> Image.Image:
    """
    Return the first picture of a file in mode RGBA, upright.

    `formats`: names of Pillow's. `by_kind`: other limits of pixels by format; `"progressive"` for such JPEGs. `within`:
    makes larger pictures smaller while they are decoded, where the format can. Raises NotAPicture and TooManyPixels.
    """
    limits = dict.fromkeys(formats, max_pixels) | dict(by_kind or {})
    try:
        with Image.open(file, formats=tuple(formats)) as opened:  # reads the head only
            if opened.width * opened.height > limits[_kind(opened, limits)]:
                raise TooManyPixels
            if within:
                opened.draft(None, _size_within(opened, within))
            opened.load()
            pixels = _small(opened, within) if within else opened
            _turn_upright(pixels)
            converted = pixels.convert("RGBA")
    except (TooManyPixels, MemoryError):  # that is ours: the same file may be a picture later
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise TooManyPixels from None
    except Exception:  # decoders of hostile bytes raise nearly anything
        raise NotAPicture from None
    clean = Image.new("RGBA", converted.size)  # without the metadata that a copy would keep
    clean.paste(converted)
    return clean


def _kind(opened: Image.Image, limits: Mapping[str, int]) -> str:
    """Return the key of the limit of pixels. Progressive JPEGs are decoded whole, with 2 bytes a sample and more."""
    if "progressive" in limits and opened.info.get("progressive"):
        return "progressive"
    return "JPEG" if opened.format == "MPO" else str(opened.format)  # MPO: a JPEG of a phone with further pictures


def _turn_upright(image: Image.Image) -> None:
    """Turn a photo as its metadata says. With unreadable metadata it stays as it is."""
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # noqa: S110 - as for pixels
        pass


def _size_within(opened: Image.Image, within: tuple[int, int]) -> tuple[int, int]:
    ratio = max(opened.width / within[0], opened.height / within[1], 1)
    return max(1, int(opened.width / ratio)), max(1, int(opened.height / ratio))


def _small(opened: Image.Image, within: tuple[int, int]) -> Image.Image:
    """Return the picture not larger than `within`, in a mode that resizes smoothly."""
    image: Image.Image = opened
    if opened.mode in _SHORTENED:
        image = opened.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    elif opened.mode not in _SMOOTH:
        image = opened.convert("RGBA")
    image.thumbnail(within, Image.Resampling.LANCZOS, reducing_gap=2.0)
    return image
