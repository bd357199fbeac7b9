"""The faults that every merge meets, with short leases and outages; `make faults` runs all of them at length."""

from collections.abc import Callable

import pytest

from tests.services.environment import POSTGRESQL, SQLITE

BOTH = pytest.mark.parametrize("backend", [SQLITE, POSTGRESQL])
Holds = Callable[[str, str], None]


@BOTH
def test_checker__dispatch_is_not_one_transaction__sees_the_loss(holds: Holds, backend: str) -> None:
    holds("F0", backend)


@BOTH
def test_f1__deliverers_are_killed__nothing_is_lost(holds: Holds, backend: str) -> None:
    holds("F1", backend)


@BOTH
def test_f2__a_process_exits_at_each_point__only_a_sent_message_may_come_twice(holds: Holds, backend: str) -> None:
    holds("F2", backend)


def test_f3__redis_is_killed__nothing_is_lost(holds: Holds) -> None:
    holds("F3", POSTGRESQL)


def test_f4__redis_is_down_or_frozen__submissions_do_not_wait(holds: Holds) -> None:
    holds("F4", POSTGRESQL)


@BOTH
def test_f7__bad_receivers__do_not_delay_healthy_ones(holds: Holds, backend: str) -> None:
    holds("F7", backend)


def test_f11__two_deliverers_on_one_file__send_each_message_once(holds: Holds) -> None:
    holds("F11", SQLITE)


@BOTH
def test_f12__a_poison_row__fails_and_delays_no_other(holds: Holds, backend: str) -> None:
    holds("F12", backend)


@BOTH
def test_f13__names_that_lead_to_the_trap__reach_it_never(holds: Holds, backend: str) -> None:
    holds("F13", backend)
