"""Previews: pictures become small plain WebPs, and everything else, bombs included, is refused before it costs much."""

import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, ImageOps

from submissions.files.previews import NoPreview, preview

SECRET = b"GPS 48.8584 N <script>alert(1)</script>"


def picture(kind: str, mode: str = "RGB", size: tuple[int, int] = (60, 30), color: Any = "red", **more: Any) -> bytes:
    file = BytesIO()
    Image.new(mode, size, color).save(file, kind, **more)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def claims(width: int, height: int) -> bytes:
    """A PNG of a hundred bytes that says it is this large."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def jpeg_claims(width: int, height: int, *, progressive: bool = False) -> bytes:
    """A small JPEG whose head says that it is this large."""
    data = bytearray(picture("JPEG", progressive=progressive))
    place = data.index(b"\xff\xc2" if progressive else b"\xff\xc0") + 5
    data[place : place + 4] = struct.pack(">HH", height, width)
    return bytes(data)


def shown(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(preview(BytesIO(data))))
    assert image.format == "WEBP"
    image.load()
    return image


def color_of(image: Image.Image, place: tuple[int, int]) -> tuple[int, ...]:
    found = image.convert("RGBA").getpixel(place)
    assert isinstance(found, tuple)
    return tuple(round(part / 51) * 51 for part in found)  # of the 216 colors of the web: WebP is inexact


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "AVIF"])
def test_picture__of_each_format__is_shown_as_webp(kind: str) -> None:
    image = shown(picture(kind))

    assert image.size == (60, 30)
    assert color_of(image, (30, 15)) == (255, 0, 0, 255)


@pytest.mark.parametrize(
    ("mode", "color"),
    [("1", 1), ("L", 255), ("LA", (255, 255)), ("P", 255), ("I;16", 65535), ("RGBA", "white"), ("CMYK", (0, 0, 0, 0))],
)
def test_picture__of_each_color_mode__keeps_its_colors(mode: str, color: Any) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    source = Image.new(mode, (60, 30), color)
    if mode == "P":
        source.putpalette([255] * 768)
    file = BytesIO()
    source.save(file, kind)

    assert color_of(shown(file.getvalue()), (30, 15)) == (255, 255, 255, 255)


def test_picture__gray_in_sixteen_bits__is_scaled_and_not_cut_off() -> None:
    assert color_of(shown(picture("PNG", "I;16", color=0x6666)), (9, 9)) == (102, 102, 102, 255)


def test_picture__that_is_transparent__stays_so() -> None:
    assert color_of(shown(picture("PNG", "RGBA", color=(0, 0, 0, 0))), (9, 9))[3] == 0


@pytest.mark.parametrize(
    ("kind", "size", "result"),
    [("PNG", (3200, 1000), (1600, 500)), ("JPEG", (1000, 6400), (250, 1600)), ("PNG", (20_000, 1), (1600, 1))],
)
def test_picture__that_is_large__is_made_smaller(kind: str, size: tuple[int, int], result: tuple[int, int]) -> None:
    assert shown(picture(kind, size=size)).size == result


def test_jpeg__that_is_large__is_decoded_in_a_fraction_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[int, int]] = []
    original = ImageFile.ImageFile.load

    def load(self: ImageFile.ImageFile) -> Any:
        loaded.append(self.size)
        return original(self)

    monkeypatch.setattr(ImageFile.ImageFile, "load", load)

    preview(BytesIO(picture("JPEG", size=(6400, 4800))))

    assert loaded[0] == (1600, 1200)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "AVIF"])
def test_photo__lying_on_its_side__is_upright_and_without_metadata(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, SECRET.decode()
    source = Image.new("RGB", (2000, 1000), "red")
    source.paste("blue", (0, 0, 1000, 1000))
    file = BytesIO()
    source.save(file, kind, exif=exif, icc_profile=SECRET, xmp=SECRET)

    small = preview(BytesIO(file.getvalue()))
    image = shown(file.getvalue())

    assert image.size == (800, 1600)
    assert color_of(image, (400, 100)) == (0, 0, 255, 255)
    for secret in (SECRET, b"EXIF", b"ICCP", b"XMP"):
        assert secret not in small


@pytest.mark.parametrize("orientation", range(10))
def test_photo__of_each_orientation__is_turned_as_pillow_does(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    source = Image.new("RGB", (60, 30), "red")
    source.paste("blue", (0, 0, 30, 15))
    file = BytesIO()
    source.save(file, "PNG", exif=exif)
    with Image.open(BytesIO(file.getvalue())) as opened:
        expected = ImageOps.exif_transpose(opened)

    image = shown(file.getvalue())

    assert image.size == expected.size
    for place in [(5, 5), (image.width - 6, 5), (5, image.height - 6), (image.width - 6, image.height - 6)]:
        assert color_of(image, place) == color_of(expected, place)


def test_photo__with_unreadable_metadata__is_shown_as_it_lies() -> None:
    assert shown(picture("PNG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")).size == (60, 30)


def test_photo__of_a_phone_with_further_pictures__shows_the_first() -> None:
    file = BytesIO()
    Image.new("RGB", (60, 30), "red").save(file, "MPO", save_all=True, append_images=[Image.new("RGB", (60, 30))])

    assert color_of(shown(file.getvalue()), (9, 9)) == (255, 0, 0, 255)


def test_animation__shows_its_first_frame() -> None:
    file = BytesIO()
    frames = [Image.new("RGB", (40, 20), color) for color in ("red", "blue", "lime")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], comment=SECRET)

    image = shown(file.getvalue())

    assert getattr(image, "n_frames", 1) == 1
    assert color_of(image, (9, 9)) == (255, 0, 0, 255)


@pytest.mark.parametrize(
    "data",
    [
        claims(60_000, 60_000),
        claims(5001, 5000),
        claims(2**31 - 1, 2**31 - 1),
        jpeg_claims(65_000, 65_000),
        jpeg_claims(8001, 8000),
        jpeg_claims(5001, 5000, progressive=True),
        picture("GIF")[:6] + b"\xff\xff\xff\xff" + picture("GIF")[10:],
    ],
)
def test_bomb__is_refused_before_it_is_decoded(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("It was decoded."))

    with pytest.raises(NoPreview):
        preview(BytesIO(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        b"<svg xmlns='http://www.w3.org/2000/svg'></svg>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",  # Pillow would start Ghostscript
        picture("PNG", size=(900, 900))[:-40],
        picture("JPEG", size=(900, 900))[:900],
        picture("GIF")[:30],
        picture("WEBP", size=(900, 900))[:-40],
        picture("AVIF", size=(900, 900))[:-40],
        picture("BMP"),
        picture("TIFF"),
        picture("ICO"),
        picture("PPM"),
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 0, 0, 0, 0)) + b"\xff" * 99,
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 0, 0, 8, 0, 0, 0, 0)),
    ],
)
def test_file__that_is_no_whole_picture__has_no_preview(data: bytes) -> None:
    with pytest.raises(NoPreview):
        preview(BytesIO(data))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "AVIF"]), st.data())
def test_picture__with_changed_bytes__is_shown_or_refused(kind: str, data: st.DataObject) -> None:
    damaged = bytearray(picture(kind, size=(20, 20)))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))

    try:
        result = preview(BytesIO(bytes(damaged)))
    except NoPreview:
        return
    assert result.startswith(b"RIFF")


def test_preview__without_memory_for_it__is_not_said_to_be_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(ImageFile.ImageFile, "load", fail)
    with pytest.raises(MemoryError):
        preview(BytesIO(picture("PNG")))
