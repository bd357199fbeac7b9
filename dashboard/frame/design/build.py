"""
Builds what the dashboard's look is made of: `make design`, or `python -m dashboard.frame.design.build`.

esbuild joins style sheets, so that a page waits for one request. The typeface and the icons come from npm
packages of `requirements/node`; the icons that `icons.py` names become one sprite. The results are committed: nothing
is built between a checkout and `serve`. A test compares them.
"""

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dashboard.frame.design.icons import ICONS, SPRITE

STATIC = "dashboard/static/"
STYLES = Path("dashboard/frame/design/styles")
SHEETS = {
    "index.css": f"{STATIC}built/dashboard.css",
    "operators.css": f"{STATIC}built/operators.css",
    "hosted.css": "submissions/static/built/hosted.css",
}
TOOLS = Path("build/node/node_modules")
LINE = 200  # characters of a line, so that a change is a small difference
HASH_DIGITS = 12  # as in the names of static files: config/pages/static_files.py
# Subsets of Geist, of one weight axis, 100 to 900; their characters are in styles/type.css.
FONTS = {
    "vendor/geist/geist-latin.woff2": "geist-latin-wght-normal.woff2",
    "vendor/geist/geist-latin-ext.woff2": "geist-latin-ext-wght-normal.woff2",
}


def build_all(tools: Path = TOOLS) -> Iterator[tuple[str, bytes]]:
    """Yield each built file as `(path, content)`."""
    geist, lucide = tools / "@fontsource-variable" / "geist", tools / "lucide-static"
    fonts = {name: (geist / "files" / file).read_bytes() for name, file in FONTS.items()}
    yield from ((f"{STATIC}{name}", content) for name, content in fonts.items())
    yield f"{STATIC}vendor/geist/LICENSE", (geist / "LICENSE").read_bytes()
    yield f"{STATIC}{SPRITE}", sprite(lucide).encode()
    yield f"{STATIC}vendor/lucide/LICENSE", (lucide / "LICENSE").read_bytes()
    for source, path in SHEETS.items():
        yield path, style_sheet(tools, source, fonts).encode()


def sprite(lucide: Path) -> str:
    """Return the icons as symbols of one file. Pages give them size, color and stroke by their class."""
    symbols = "".join(f"{symbol(lucide, name)}\n" for name in ICONS)
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{symbols}</svg>\n'


def symbol(lucide: Path, name: str) -> str:
    """Return an icon's shapes on one line, without the attributes of its `svg`."""
    source = (lucide / "icons" / f"{name}.svg").read_text()
    inside = source[source.index(">", source.index("<svg")) + 1 : source.index("</svg>")]
    shapes = " ".join(inside.split()).replace(" />", "/>").replace("> <", "><")
    return f'<symbol id="{name}" viewBox="0 0 24 24">{shapes}</symbol>'


def style_sheet(tools: Path, source: str, fonts: dict[str, bytes]) -> str:
    """Return a style sheet with everything that it imports, minified."""
    esbuild, shape = str(tools / ".bin" / "esbuild"), ("--target=esnext", "--charset=utf8", f"--line-limit={LINE}")
    joined = subprocess.run(  # noqa: S603 - our own command line
        [esbuild, str(STYLES / source), "--bundle", "--minify", "--external:*.woff2", *shape],
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    for name, content in fonts.items():
        # The hash is the one that a page's preload has, which `static` adds; with DEBUG there is only the plain name.
        found, kind = hashlib.sha256(content).hexdigest()[:HASH_DIGITS], 'format("woff2")'
        hashed = f"{name.removesuffix('.woff2')}.{found}.woff2"
        joined = joined.replace(f"url(../{name})", f"url(../{hashed}) {kind},url(../{name}) {kind}")
    return joined


if __name__ == "__main__":
    for path, content in build_all():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(content)
