"""Accents and logos: the colors that are accepted, and hostile files that become plain pictures or are refused."""

import re
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from keys.branding.brand import DEFAULT_ACCENT, brand_of
from keys.branding.colors import BACKGROUNDS, UnfitColor, check_accent, contrast, nearest_accent, text_on
from keys.branding.logos import MAX_STORED_BYTES, UnfitLogo, read_logo
from keys.models import Organization

TOKENS = Path(__file__).parents[3] / "forms_app/static/brand/tokens.css"
SECRET = b"GPS 48.8584 N <script>alert(1)</script>"


def picture(kind: str, mode: str = "RGB", size: tuple[int, int] = (600, 300), color: Any = "red", **more: Any) -> bytes:
    file = BytesIO()
    Image.new(mode, size, color).save(file, kind, **more)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def claims(width: int, height: int) -> bytes:
    """A PNG of a hundred bytes that says it is this large."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def animated() -> bytes:
    file = BytesIO()
    frames = [Image.new("RGB", (40, 20), color) for color in ("red", "blue", "lime")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], comment=SECRET)
    return file.getvalue()


def photo() -> bytes:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, SECRET.decode()  # lying on its side, with a description
    return picture("JPEG", size=(60, 30), exif=exif)


@pytest.mark.parametrize(
    ("given", "color"), [("#0F8A63", "#0f8a63"), ("c2410c", "#c2410c"), (" #07c ", "#0077cc"), ("#dc2626", "#dc2626")]
)
def test_accent__that_is_seen_in_both_modes__is_stored_in_one_spelling(given: str, color: str) -> None:
    assert check_accent(given) == color
    assert contrast(text_on(color), color) >= 4.5


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("#001f5b", "too dark for the dark mode"),
        ("#ffcc00", "too light for the light mode"),
        ("#ffffff", "this one has 1.0 to 1"),
        ("#000", "too dark for the dark mode"),
    ],
)
def test_accent__too_close_to_a_page__is_refused_with_one_that_fits(given: str, expected: str) -> None:
    with pytest.raises(UnfitColor) as refused:
        check_accent(given)
    suggestion = refused.value.suggestion
    assert expected in str(refused.value)
    assert str(refused.value).endswith(f"The nearest color that fits is {suggestion}.")
    assert check_accent(suggestion) == suggestion
    assert nearest_accent(suggestion) == suggestion or contrast(suggestion, nearest_accent(suggestion)) < 1.05


@pytest.mark.parametrize("given", ["red", "#12345", "#1234567", "#12345g", "url(x)", "#2563eb;}", "\uff12563eb", ""])
def test_accent__that_is_no_color__is_refused(given: str) -> None:
    with pytest.raises(UnfitColor, match="six hexadecimal digits"):
        check_accent(given)


def test_accent__backgrounds_and_default__are_those_of_the_tokens() -> None:
    tokens = TOKENS.read_text()
    assert f"--card: light-dark(var(--white), {BACKGROUNDS['dark']});" in tokens
    assert f"--white: {BACKGROUNDS['light']};" in tokens
    assert f"--green: {DEFAULT_ACCENT};" in tokens


@pytest.mark.parametrize(
    ("file", "size"),
    [
        (picture("PNG"), (320, 160)),
        (picture("JPEG", "CMYK", color=(0, 255, 255, 0)), (320, 160)),
        (picture("PNG", "P", (40, 20), 7), (40, 20)),
        (picture("PNG", "I;16", (40, 20), 700), (40, 20)),
        (picture("WEBP", "RGBA", (2000, 100)), (480, 24)),
        (animated(), (40, 20)),
        (photo(), (30, 60)),  # upright
        (photo() + b"<html>" + SECRET, (30, 60)),  # a page behind the picture
    ],
    ids=["png", "cmyk", "palette", "16-bit", "webp", "animated", "exif", "polyglot"],
)
def test_logo__of_any_kind__becomes_a_small_png_with_pixels_only(file: bytes, size: tuple[int, int]) -> None:
    logo = read_logo(file)
    stored = Image.open(BytesIO(logo.png))
    assert (stored.format, stored.size, (logo.width, logo.height)) == ("PNG", size, size)
    assert getattr(stored, "n_frames", 1) == 1
    assert re.findall(rb"IHDR|PLTE|tRNS|IDAT|IEND|tEXt|zTXt|iTXt|eXIf|iCCP|tIME", logo.png)[0] == b"IHDR"
    assert not re.search(rb"tEXt|zTXt|iTXt|eXIf|iCCP|script|GPS", logo.png)


def test_logo__of_noise__is_kept_small_by_fewer_colors() -> None:
    noise = Image.merge("RGB", [Image.effect_noise((960, 320), 90 + band) for band in range(3)])
    file = BytesIO()
    noise.save(file, "WEBP", quality=70)
    assert len(read_logo(file.getvalue()).png) <= MAX_STORED_BYTES


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"", "not a PNG, JPEG, WebP or GIF picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "not a PNG, JPEG, WebP or GIF picture"),
        (picture("PNG")[:60], "not a PNG, JPEG, WebP or GIF picture"),
        (picture("BMP"), "not a PNG, JPEG, WebP or GIF picture"),
        (picture("TIFF"), "not a PNG, JPEG, WebP or GIF picture"),
        (claims(3000, 3000), "more than 4 million pixels"),
        (claims(60_000, 60_000), "more than 4 million pixels"),
        (picture("PNG", "1", (2001, 2000), 1), "more than 4 million pixels"),
        (b"\0" * 1_000_001, "larger than 1 MB"),
    ],
    ids=["empty", "svg", "cut", "bmp", "tiff", "claim", "bomb", "just-over", "large"],
)
def test_logo__that_is_none_or_too_large__is_refused_with_advice(file: bytes, message: str) -> None:
    with pytest.raises(UnfitLogo, match=message):
        read_logo(file)


@pytest.mark.parametrize(
    ("ink", "tone"), [((20, 30, 70, 255), "dark"), ((250, 250, 250, 255), "light"), ((200, 60, 30, 255), "")]
)
def test_logo__transparent_and_nearly_of_one_tone__is_named_so(ink: tuple[int, ...], tone: str) -> None:
    drawn = Image.new("RGBA", (400, 100), (0, 0, 0, 0))
    drawn.paste(ink, (50, 20, 350, 80))
    file = BytesIO()
    drawn.save(file, "PNG")
    name = read_logo(file.getvalue()).name
    shown = brand_of(Organization(name="Nora", logo_name=name)).logo
    assert re.fullmatch(r"[0-9a-f]{32}-400x100(-dark|-light)?", name)
    assert shown == {"path": f"/f/brand/{name}.png", "width": 224, "height": 56, "tone": tone}
    assert read_logo(picture("PNG", color=ink[:3])).tone == ""  # opaque: it brings its own background
