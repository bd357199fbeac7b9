"""The two lines of an outage (`config.outage`)."""

import threading

import pytest
from django.db import OperationalError, ProgrammingError, connection
from psycopg import errors

from config import outage
from config.outage import Outage, can_store
from tests.services.waiting import eventually


class Database:
    """A test of the database that succeeds when the outage is over."""

    def __init__(self) -> None:
        self.is_back = threading.Event()


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, object]]:
    records = [record for record in caplog.records if record.name == outage.__name__]
    return [(record.levelname, record.getMessage(), getattr(record, "refused", None)) for record in records]


def test_outage__of_many_requests__is_one_line_and_another_with_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = Database()
    made = Outage(database.is_back.is_set, poll=0.01, quiet=0.01)
    for _ in range(3):
        made.note(OperationalError("gone\nand more"), refused=1)
    made.note(OperationalError("gone"))  # of a thread of ours
    assert lines(caplog) == [("ERROR", "database unavailable: gone", None)]
    database.is_back.set()
    eventually(lambda: len(lines(caplog)) == 2)
    assert lines(caplog)[1] == ("WARNING", "database available again", 3)


def test_outage__after_another__is_counted_from_zero(caplog: pytest.LogCaptureFixture) -> None:
    made = Outage(lambda: True, poll=0.01, quiet=0.01)
    for number in (1, 2):
        made.note(OperationalError("gone"), refused=1)
        eventually(lambda wanted=2 * number: len(lines(caplog)) == wanted)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    assert [refused for _, _, refused in lines(caplog)] == [None, 1, None, 1]


def test_outage__that_fails_again_during_the_test__goes_on(caplog: pytest.LogCaptureFixture) -> None:
    tested: list[int] = []

    def works() -> bool:
        tested.append(1)
        if len(tested) == 1:
            made.note(OperationalError("gone"), refused=1)
        return True

    made = Outage(works, poll=0.01, quiet=0.01)
    made.note(OperationalError("gone"), refused=1)
    eventually(lambda: len(lines(caplog)) == 2)
    assert (len(tested), lines(caplog)[1][2]) == (2, 2)


def test_outage__statement_that_waited_too_long__is_a_line_and_no_outage(caplog: pytest.LogCaptureFixture) -> None:
    error = OperationalError("canceling statement due to statement timeout")
    error.__cause__ = errors.QueryCanceled()
    made = Outage(lambda: True)
    made.note(error, refused=1)
    made.note(error, refused=1)
    assert lines(caplog) == [("WARNING", f"database busy: {error}", None)] * 2


def test_outage__whose_test_has_a_defect__ends_with_the_defect_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    made = Outage(lambda: bool(1 / 0), poll=0.01, quiet=0.01)
    made.note(OperationalError("gone"), refused=1)
    eventually(lambda: len(lines(caplog)) == 3)
    assert lines(caplog)[1:] == [
        ("ERROR", "the test of the database failed; nothing else does", None),
        ("WARNING", "database available again", 1),
    ]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("error", "is_outage"), [(OperationalError, True), (ProgrammingError, False)])
def test_can_store__error_of_the_test__is_false_or_raised(
    error: type[Exception], is_outage: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(connection, "cursor", fail)
    if is_outage:
        assert not can_store()
    else:
        with pytest.raises(error):
            can_store()


@pytest.mark.django_db(transaction=True)
def test_can_store__database_that_works__is_true() -> None:
    assert can_store()
