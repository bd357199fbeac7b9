"""Several processes that write to one file."""

from collections.abc import Callable


def test_f11__two_deliverers_on_one_file__send_each_message_once(holds: Callable[[str], None]) -> None:
    holds("F11")
