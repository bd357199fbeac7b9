"""Findings of axe on a page, and the ways in which pages are shown to it."""

from collections.abc import Sequence

from playwright.sync_api import Page

from tests.support.chromium.coverage import TOOLS

SCHEMES = [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}]


ALL_RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
COLOR_RULES = ["color-contrast", "link-in-text-block"]  # those that another color scheme can change


def violations(page: Page, rules: Sequence[str] = ALL_RULES) -> list[str]:
    """Return what axe finds with every rule it has, or those of `rules`: tags or names."""
    if not page.evaluate("'axe' in window"):
        # Through the debugger's protocol, which the page's own policy does not bind.
        page.evaluate((TOOLS / "node_modules" / "axe-core" / "axe.min.js").read_text())
    found = page.evaluate("rules => axe.run({ runOnly: rules })", list(rules))
    return [f"{one['id']}: {[node['html'] for node in one['nodes']]}" for one in found["violations"]]
