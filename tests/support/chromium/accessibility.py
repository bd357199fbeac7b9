"""Findings of axe on a page, and the ways in which pages are shown to it."""

from collections.abc import Sequence

from playwright.sync_api import Page

from tests.support.chromium.coverage import TOOLS

SCHEMES = [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}]


ALL_RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
COLOR_RULES = ["color-contrast", "link-in-text-block"]  # those that another color scheme can change
# https://github.com/dequelabs/axe-core/blob/develop/doc/API.md: `resultTypes` limits no rule, only the description of
# elements that passed. They stay in the page, too: to bring them here would take longer than to find them.
RUN = """async (rules) => {
  const found = await axe.run({ runOnly: rules, resultTypes: ["violations"] });
  return found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]);
}"""


def violations(page: Page, rules: Sequence[str] = ALL_RULES) -> list[str]:
    """Return what axe finds with every rule it has, or those of `rules`: tags or names."""
    if not page.evaluate("'axe' in window"):
        # Through the debugger's protocol, which the page's own policy does not bind.
        page.evaluate((TOOLS / "node_modules" / "axe-core" / "axe.min.js").read_text())
    return [f"{rule}: {nodes}" for rule, nodes in page.evaluate(RUN, list(rules))]


def violations_in_both_schemes(page: Page) -> list[str]:
    """Return what axe finds in the light scheme, which the page must have, and what the dark one adds."""
    found = violations(page)
    # The style sheet and the chart follow immediately; reduced motion leaves no color on its way to another.
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [f"in the dark: {one}" for one in violations(page, COLOR_RULES)]
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    return found
