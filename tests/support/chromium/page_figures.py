"""The costs of a page for a visitor with an empty cache."""

import dataclasses

from playwright.sync_api import Page

# https://developer.mozilla.org/docs/Web/API/PerformanceResourceTiming and …/LayoutShift
READ = """() => {
  const shifts = new PerformanceObserver(() => {});
  shifts.observe({ type: "layout-shift", buffered: true });
  const found = shifts.takeRecords();
  const parts = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const path = (one) => new URL(one.name).pathname;
  return {
    shift: found.reduce((sum, one) => sum + one.value, 0),
    moved: found.flatMap((one) => one.sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? "removed")),
    sizes: Object.fromEntries(parts.map((one) => [path(one), one.transferSize])),
    blocking: parts.filter((one) => one.renderBlockingStatus === "blocking").map(path),
  };
}"""


@dataclasses.dataclass(frozen=True, slots=True)
class Figures:
    """
    `shift`: the sum of all layout shifts; `moved`: how the elements that moved begin. `sizes`: bytes that came through
    the network by path, headers included. `blocking`: the paths that the first paint waited for, besides the document.
    """

    shift: float
    moved: list[str]
    sizes: dict[str, int]
    blocking: list[str]

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())

    def largest(self) -> str:
        """Return the sizes, the largest first."""
        return ", ".join(f"{path} {size}" for path, size in sorted(self.sizes.items(), key=lambda it: -it[1]))


def figures_of(page: Page) -> Figures:
    """Return the figures of the page that is open, at this moment."""
    return Figures(**page.evaluate(READ))
