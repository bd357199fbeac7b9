"""The files of the project that the checks of text read."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = (".html", ".txt")
SCRIPTS = (".js", ".mjs", ".jsx", ".ts", ".tsx", ".css")
HASH_COMMENTS = (".toml", ".yaml", ".yml", ".service", ".cfg")
NAMES = ("Makefile", "Dockerfile")
ROOMS = (
    "clients",
    "config",
    "dashboard",
    "deploy",
    "docs",
    "forms_app",
    "keys",
    "submissions",
    "templates",
    "tests",
    "webhooks",
    ".github",
)
# Other people's text, built files, and migrations, which are never edited once they have landed.
EXCLUDED = (
    "/migrations/",
    "/vendor/",
    "/node_modules/",
    "/__pycache__/",
    "/forms_app/builds/",
    "/clients/sdk/src/schema.ts",
    "/static/built/",
    "/tests/support/chromium/pages/",  # pages of other site builders
    "/requirements/",
)


def relative(path: Path) -> str:
    """Return a path as it is reported: below the project, or as it is."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def is_read(path: Path) -> bool:
    """Return whether a file is text of ours, by its name."""
    place = f"/{relative(path)}"
    if any(part in place for part in EXCLUDED):
        return False
    return path.suffix in (".py", ".md", *TEMPLATES, *SCRIPTS, *HASH_COMMENTS) or path.name in NAMES


def files(paths: list[Path] | None = None) -> Iterator[Path]:
    """Yield the files at or below `paths`, sorted; the whole project by default."""
    starts = paths or [*(ROOT / room for room in ROOMS), *sorted(path for path in ROOT.iterdir() if path.is_file())]
    for start in starts:
        start = start.resolve()
        below = [start] if start.is_file() else sorted(path for path in start.rglob("*") if path.is_file())
        yield from (path for path in below if is_read(path))
