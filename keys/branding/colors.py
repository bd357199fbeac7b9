"""
The accent of an organization: a color for buttons on hosted pages and in mails.

Pure. Contrasts are those of WCAG 2.2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
"""

import colorsys
import re

from django.utils.formats import number_format
from django.utils.translation import gettext

BLACK, WHITE = "#000000", "#ffffff"
# `card` of brand/tokens.css, which a button lies on: a test compares them.
BACKGROUNDS = {"light": WHITE, "dark": "#16191a"}
EDGE_CONTRAST = 3.0  # of a control against its background (WCAG 2.2, 1.4.11)
STEPS = 256  # of lightness, in which a suggestion is searched
_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


class UnfitColor(ValueError):
    """The text is no color, or too close to a background. `suggestion`: the nearest color that fits, "" for none."""

    def __init__(self, message: str, suggestion: str = "") -> None:
        super().__init__(message)
        self.suggestion = suggestion


def parse_color(text: str) -> str:
    """Return a color such as `#0b6e4f` in lower case; `0B6E4F` and `#ABC` are read too. Raises UnfitColor."""
    found = _COLOR.fullmatch(text.strip())
    if found is None:
        raise UnfitColor(gettext("Enter a color as six hexadecimal digits, such as #2563eb."))
    digits = found[1].lower()
    return f"#{digits if len(digits) == 6 else ''.join(digit * 2 for digit in digits)}"


def check_accent(text: str) -> str:
    """
    Return the color of an accent. Raises UnfitColor if a button in it could hardly be seen.

    Its text is never the problem: black or white has a contrast of 4.58 or more on every color.
    """
    color = parse_color(text)
    too_close = [scheme for scheme in BACKGROUNDS if not _is_seen_in(scheme, color)]
    if not too_close:
        return color
    suggestion = nearest_accent(color)
    if too_close[0] == "light":
        message = gettext(
            "%(color)s is too light for the light mode: a button needs a contrast of %(needed)s to 1 with the page, "
            "and this one has %(found)s to 1. The nearest color that fits is %(suggestion)s."
        )
    else:
        message = gettext(
            "%(color)s is too dark for the dark mode: a button needs a contrast of %(needed)s to 1 with the page, and "
            "this one has %(found)s to 1. The nearest color that fits is %(suggestion)s."
        )
    found = number_format(f"{contrast(color, BACKGROUNDS[too_close[0]]):.1f}")
    values = {"color": color, "needed": f"{EDGE_CONTRAST:.0f}", "found": found, "suggestion": suggestion}
    raise UnfitColor(message % values, suggestion)


def nearest_accent(color: str) -> str:
    """Return the color of the same hue and saturation, with the nearest lightness that fits both modes."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in _parts(color)))
    shades = [_hex(colorsys.hls_to_rgb(hue, step / STEPS, saturation)) for step in range(STEPS + 1)]
    near = sorted(range(STEPS + 1), key=lambda step: abs(step / STEPS - lightness))
    return next(shades[step] for step in near if all(_is_seen_in(scheme, shades[step]) for scheme in BACKGROUNDS))


def text_on(color: str) -> str:
    """Return black or white, the one that reads better on a color."""
    return max((WHITE, BLACK), key=lambda text: contrast(text, color))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, from 1 to 21."""
    darker, lighter = sorted((luminance(_parts(one)), luminance(_parts(other))))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(parts: tuple[int, int, int]) -> float:
    """Return the relative luminance of red, green and blue (0 to 255 each), from 0 to 1."""
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in parts)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _is_seen_in(scheme: str, color: str) -> bool:
    return contrast(color, BACKGROUNDS[scheme]) >= EDGE_CONTRAST


def _parts(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _hex(parts: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(part * 255):02x}" for part in parts)
