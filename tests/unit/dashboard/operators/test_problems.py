"""The problems that operators see, from the rows that each cause leaves."""

import datetime as dt
import uuid

import pytest
from django.db.models.functions import Now
from django.template.loader import render_to_string

from config import health
from config.base.times import now
from config.health import Problem
from dashboard.operators import figures
from dashboard.operators.problems import problems_of_attempts, problems_of_roles
from keys.models import Organization
from tests.support.deliveries import make_delivery
from tests.support.tenants import make_tenant
from webhooks.models import Attempt, DelivererSlots, Receiver
from webhooks.processes.presence import ALIVE, EVERY_SECONDS, forget_dead, say_alive

pytestmark = pytest.mark.django_db

SECONDS = dt.timedelta(seconds=1)


@pytest.fixture
def organization() -> Organization:
    return make_tenant().organization


def codes(found: object) -> list[str]:
    assert hasattr(found, "__iter__")
    return [problem.code for problem in found if isinstance(problem, Problem)]


def process(role: str, *, alive: bool = True, slots: int = 0) -> None:
    until = Now() + (60 if alive else -1) * SECONDS
    DelivererSlots.objects.create(name=f"host:{role}", role=role, slots=slots, mail_slots=0, alive_until=until)


@pytest.mark.parametrize(
    ("living", "found"),
    [
        ([], ["no_deliverer"]),
        (["beat"], ["no_deliverer"]),
        (["worker"], ["no_beat"]),
        (["worker", "beat"], []),
        (["deliver"], []),
        (["worker", "deliver"], []),
    ],
)
def test_roles__with_and_without_work__are_named_when_they_are_dead(
    organization: Organization, living: list[str], found: list[str]
) -> None:
    for role in {"worker", "beat", "deliver"} - {*living}:
        process(role, alive=False)
    for role in living:
        process(role)
    assert codes(problems_of_roles()) == found
    make_delivery("ada@example.com", organization=organization)
    assert codes(problems_of_roles()) == found


def test_roles__of_a_release_without_heartbeats__live_while_they_deliver() -> None:
    process("", slots=128)
    assert codes(problems_of_roles()) == ["no_beat"]
    assert figures.queue().deliverers == 0


def test_backlog__of_a_living_process__is_late_or_only_for_endpoints_that_are_down(
    organization: Organization,
) -> None:
    process("deliver")
    make_delivery("ada@example.com", organization=organization, next_attempt_at=now() - dt.timedelta(minutes=6))
    assert codes(problems_of_roles()) == ["late"]
    assert figures.queue().deliverers == 1


def test_presence__is_one_row_for_a_process__and_rows_of_a_dead_host_go() -> None:
    own = uuid.uuid4()
    process("worker", alive=False)
    DelivererSlots.objects.update(alive_until=Now() - dt.timedelta(minutes=61))
    process("beat", alive=False)
    say_alive(own, Now() + ALIVE, role="worker", slots=0, mail_slots=0)
    assert set(DelivererSlots.objects.values_list("role", "slots")) == {("worker", 0), ("beat", 0)}
    DelivererSlots.objects.filter(pk=own).update(alive_until=Now() - SECONDS)
    assert codes(problems_of_roles()) == ["no_deliverer"]
    say_alive(own, Now() + ALIVE, role="worker", slots=0, mail_slots=0)
    assert figures.living().get().pk == own
    assert figures.living().filter(alive_until__gt=Now() + 2 * EVERY_SECONDS * SECONDS).exists()
    DelivererSlots.objects.update(alive_until=Now() - dt.timedelta(minutes=61))
    forget_dead()
    assert not DelivererSlots.objects.exists()


@pytest.mark.parametrize(
    ("attempts", "found"),
    [
        (["mail_failed"] * 3, ["mails_fail"]),
        (["mail_refused"] * 3, ["mails_fail"]),
        (["mail_failed"] * 2, []),
        (["mail_failed", "mail_failed", "mail_failed", ""], []),
        ([], []),
    ],
)
def test_mails__that_all_fail__are_named_with_their_reason(
    organization: Organization, attempts: list[str], found: list[str]
) -> None:
    for number, error in enumerate(attempts):
        delivery = make_delivery(f"{number}@example.com", organization=organization)
        Attempt.objects.create(delivery=delivery, started_at=now(), duration_ms=9, error=error)
    problems = [*problems_of_attempts()]
    assert codes(problems) == found
    if "mail_refused" in attempts:
        assert str(problems[0].message) == (
            "Every mail fails. The most frequent reason: The mail server refused this mail."
        )


def test_mails__of_one_delivery_or_of_yesterday__are_no_problem_of_the_service(organization: Organization) -> None:
    one = make_delivery("ada@example.com", organization=organization)
    for _ in range(5):
        Attempt.objects.create(delivery=one, started_at=now(), duration_ms=9, error="mail_failed")
    for number in range(5):
        old = make_delivery(f"{number}@example.com", organization=organization)
        moment = now() - dt.timedelta(minutes=16)
        Attempt.objects.create(delivery=old, started_at=moment, duration_ms=9, error="mail_failed")
    assert codes(problems_of_attempts()) == []


@pytest.mark.parametrize(
    ("hosts", "error", "found"),
    [
        (["one.example", "two.example"], "dns_failure", ["messages_fail"]),
        (["one.example", "one.example"], "dns_failure", []),
        (["one.example", "two.example"], "", []),
    ],
)
def test_messages__that_fail_for_all_hosts__are_named_with_their_reason(
    organization: Organization, hosts: list[str], error: str, found: list[str]
) -> None:
    for host, error_class in zip([*hosts, hosts[0]], ["dns_failure", "dns_failure", error], strict=True):
        webhook = Receiver.objects.create(
            organization=organization, url=f"https://{host}/{uuid.uuid4()}", events=["submission.created"]
        )
        delivery = make_delivery(webhook, host=host)
        Attempt.objects.create(delivery=delivery, started_at=now(), duration_ms=9, error=error_class)
    assert codes(problems_of_attempts()) == found


def test_overview__with_problems__shows_each_and_where_to_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made = health.Problems()
    made.register(lambda: [Problem("late", "Deliveries are late."), Problem("redis", health.NO_REDIS)])
    monkeypatch.setattr(figures, "PROBLEMS", made)
    page = render_to_string("admin/parts/figures.html", figures.overview())
    for text in ("Deliveries are late.", "Redis is unreachable", "#when-deliveries-lag"):
        assert text in page
