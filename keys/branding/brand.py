"""The brand of an organization, or of one of its forms, as pages and mails show it: accent, logo, name."""

import base64
import dataclasses
import hashlib
import re

from django.utils.html import format_html
from django.utils.safestring import SafeString

from keys.branding.colors import text_on
from keys.models import Organization

DEFAULT_ACCENT = "#0b6e4f"  # `green` of brand/tokens.css
SHOWN_WIDTH, SHOWN_HEIGHT = 240, 56  # CSS pixels at most; the stored picture has more for sharp screens
_NAME = re.compile(r"[0-9a-f]{32}-(?P<width>\d{1,3})x(?P<height>\d{1,3})(?:-(?P<tone>dark|light))?")


@dataclasses.dataclass(frozen=True, slots=True)
class Brand:
    """`own_accent`: "" for the default one."""

    name: str
    own_accent: str
    logo: dict[str, str | int] | None

    @property
    def accent(self) -> str:
        return self.own_accent or DEFAULT_ACCENT

    @property
    def on_accent(self) -> str:
        return text_on(self.accent)

    @property
    def style(self) -> str:
        """The rule of the organization's own accent; both modes have the same, because it is visible in both."""
        if not self.own_accent:
            return ""
        return f":root{{--accent:{self.accent};--accent-strong:{self.accent};--on-accent:{self.on_accent}}}"

    @property
    def style_element(self) -> SafeString:
        """The HTML of `style`. Not in a template: the policy allows its exact text, and formatters add white space."""
        return format_html("<style>{}</style>", self.style) if self.style else SafeString()

    @property
    def style_source(self) -> str:
        """The source of a Content-Security-Policy that allows `style` in a page, and no other (CSP 3, 2.3.1)."""
        digest = hashlib.sha256(self.style.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'" if self.style else ""


def brand_of(organization: Organization, *, accent: str = "", logo_name: str = "") -> Brand:
    """Return the brand of an organization, with what one of its forms has instead. Costs no query."""
    return Brand(organization.name, accent or organization.accent, _shown(logo_name or organization.logo_name))


def _shown(name: str) -> dict[str, str | int] | None:
    """Return `{path, width, height, tone}`, the size in CSS pixels; None without a logo. `tone`: see LogoImage."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    width, height = int(found["width"]), int(found["height"])
    scale = min(1.0, SHOWN_WIDTH / width, SHOWN_HEIGHT / height)
    size = {"width": max(1, round(width * scale)), "height": max(1, round(height * scale))}
    return {"path": f"/f/brand/{name}.png", **size, "tone": found["tone"] or ""}
