"""The benchmarks' names and their ratio; the measurements themselves are `make bench`."""

import argparse

import pytest

from tests.load.bench import NAMES, chosen
from tests.load.deliveries.report import MARKS, Comparison


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", NAMES),
        ("deliver", ("deliver16", "deliver1")),
        ("deliver1", ("deliver1",)),
        ("latency,submit", ("submit", "latency")),
    ],
)
def test_only__of_a_name_or_a_group__chooses_these_in_order(text: str, names: tuple[str, ...]) -> None:
    assert chosen(text) == names


def test_only__unknown_name__says_which_are_known() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"unknown: delivery; known: submit, .*deliver$"):
        chosen("submit,delivery")


def test_comparison__of_three_rounds__divides_the_medians() -> None:
    compared = Comparison("drain", [10.0, 30.0, 20.0], [100.0, 80.0, 90.0], MARKS["deliver16"])
    assert compared.ratio == 20 / 90
    assert compared.line() == (
        "drain: 20 a second, the reference 90: ratio 0.222, of round pairs 0.100..0.375; the mark is 0.35, the aim 0.6."
    )
