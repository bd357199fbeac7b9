"""The printed figures of the benchmarks of deliveries."""

import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

MAX_P99_RATIO = 3.0


@dataclass(frozen=True)
class Mark:
    """The ratios that we set out to reach, first and then."""

    first: float
    aim: float | None = None

    def __str__(self) -> str:
        return f"the mark is {self.first:g}" + (f", the aim {self.aim:g}" if self.aim else "")


MARKS = {"deliver16": Mark(0.35, 0.6), "deliver1": Mark(0.2), "dispatch": Mark(0.2)}


@dataclass(frozen=True)
class Comparison:
    """Rates a second of ours and of the reference, one of each a round."""

    title: str
    ours: list[float]
    reference: list[float]
    mark: Mark

    @property
    def ratio(self) -> float:
        """The ratio of the medians."""
        return median(self.ours) / median(self.reference)

    def line(self) -> str:
        pairs = [one / other for one, other in zip(self.ours, self.reference, strict=True)]
        return (
            f"{self.title}: {median(self.ours):,.0f} a second, the reference {median(self.reference):,.0f}: "
            f"ratio {self.ratio:.3f}, of round pairs {min(pairs):.3f}..{max(pairs):.3f}; {self.mark}."
        )

    def plain(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        return {"ratio": self.ratio, "per_second": self.ours, "reference_per_second": self.reference}


def tell_progress(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
