"""The faults that every merge meets, with short leases and outages; `make faults` runs all of them at length."""

from collections.abc import Callable

Holds = Callable[[str], None]


def test_checker__dispatch_is_not_one_transaction__sees_the_loss(holds: Holds) -> None:
    holds("F0")


def test_f1__deliverers_are_killed__nothing_is_lost(holds: Holds) -> None:
    holds("F1")


def test_f2__a_process_exits_at_each_point__only_a_sent_message_may_come_twice(holds: Holds) -> None:
    holds("F2")


def test_f7__bad_receivers__do_not_delay_healthy_ones(holds: Holds) -> None:
    holds("F7")


def test_f12__a_poison_row__fails_and_delays_no_other(holds: Holds) -> None:
    holds("F12")


def test_f13__names_that_lead_to_the_trap__never_reach_it(holds: Holds) -> None:
    holds("F13")


def test_f27__web_processes_are_killed_with_files__no_bytes_are_lost_or_left(holds: Holds) -> None:
    holds("F27")


def test_f28__keys_are_revoked_while_in_use__no_later_request_is_accepted(holds: Holds) -> None:
    holds("F28")


def test_f30__a_relay_answers_5xx_and_heals__every_mail_arrives_once(holds: Holds) -> None:
    holds("F30")


def test_f32__retention_runs_while_suspended__deletes_nothing_until_the_resume(holds: Holds) -> None:
    holds("F32")


def test_f29__a_silent_name_server__does_not_delay_others(holds: Holds) -> None:
    holds("F29")
