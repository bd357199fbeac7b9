"""Redis killed, down and frozen."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_f3__redis_is_killed__nothing_is_lost(holds: Holds) -> None:
    holds("F3")


def test_f4__redis_is_down_or_frozen__submissions_do_not_wait(holds: Holds) -> None:
    holds("F4")


def test_f31__redis_is_killed_again_and_again__the_worker_lives_on(holds: Holds) -> None:
    holds("F31")
