"""A row of the table, the figures of its rounds, and whether they meet its mark."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self


@dataclass(frozen=True)
class Row:
    """
    One line of the table.

    `title`: the measurement. `rival`: the reference of the same round; empty where the figure itself is compared with
    the mark. `unit`: of our figure and the rival's. `mark` and `aim` bound the value, from below where
    `higher_is_better`. The value is ours divided by the rival's, or ours.
    """

    name: str
    title: str
    rival: str
    unit: str
    mark: float
    aim: float | None = None
    higher_is_better: bool = False

    @property
    def is_ratio(self) -> bool:
        """Whether the value is a ratio to the rival's figure."""
        return bool(self.rival)

    def meets(self, value: float, bound: float) -> bool:
        """Return whether a value is on the right side of a mark or aim, or equal to it."""
        return value >= bound if self.higher_is_better else value <= bound

    def verdict(self, value: float) -> str:
        """Return `aim`, `mark` or `missed`: the better of the two that the value meets."""
        if self.aim is not None and self.meets(value, self.aim):
            return "aim"
        return "mark" if self.meets(value, self.mark) else "missed"

    def show(self, value: float) -> str:
        """Return a value with its unit, in the precision that its size deserves."""
        if not self.is_ratio:
            return f"{_number(value)} {self.unit}"
        return f"{value:.3f}" if self.higher_is_better else f"{value:.2f} x"


@dataclass(frozen=True)
class Round:
    """The figure of one round, and the rival's of the same round."""

    ours: float
    rival: float | None = None

    @property
    def value(self) -> float:
        """Ours divided by the rival's, or ours."""
        return self.ours if self.rival is None else self.ours / self.rival


@dataclass(frozen=True)
class Result:
    """The rounds of a row, in order."""

    row: Row
    rounds: tuple[Round, ...]

    @property
    def value(self) -> float:
        """The median of the values of the rounds."""
        return median(one.value for one in self.rounds)

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest value of a round."""
        values = [one.value for one in self.rounds]
        return min(values), max(values)

    @property
    def ours(self) -> float:
        """The median of our figures."""
        return median(one.ours for one in self.rounds)

    @property
    def rival(self) -> float | None:
        """The median of the rival's figures."""
        figures = [one.rival for one in self.rounds if one.rival is not None]
        return median(figures) if figures else None

    @property
    def verdict(self) -> str:
        """`aim`, `mark` or `missed`."""
        return self.row.verdict(self.value)

    def plain(self) -> dict[str, Any]:
        """Return the figures for JSON, with four significant digits."""
        figures: dict[str, Any] = {"ours": [_rounded(one.ours) for one in self.rounds]}
        if self.row.is_ratio:
            figures["rival"] = [_rounded(one.rival) for one in self.rounds if one.rival is not None]
        return figures

    @classmethod
    def from_plain(cls, row: Row, plain: dict[str, Any]) -> Self:
        """Return what `plain` returned as a result again."""
        rivals: Sequence[float | None] = plain.get("rival") or [None] * len(plain["ours"])
        return cls(row, tuple(Round(ours, rival) for ours, rival in zip(plain["ours"], rivals, strict=True)))


def show_pair(result: Result) -> str:
    """Return the median of our figures and of the rival's: `1,234 of 5,678 a second`."""
    if result.rival is None:
        return ""
    return f"{_number(result.ours)} of {_number(result.rival)} {result.row.unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
