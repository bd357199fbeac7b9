"""Holding and releasing: in a new hour, in order, within the room, by several at the same time; the counts in step."""

import datetime as dt
import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
import time_machine
from pytest_django import Settings

from config.api import ratelimit
from config.base.ids import new_id
from config.base.times import now
from forms_app.models import Form
from keys.models import HourMark, Notice, Organization
from submissions.lifecycle.held import release_due, release_many
from submissions.lifecycle.spam_marks import delete_many, mark_many
from submissions.models import Submission, Tally
from submissions.receiving.insert import Hold, TooManyHeld, store
from submissions.receiving.once import Once
from submissions.receiving.parse_body import NOTHING
from tests.unit.webhooks.dispatching import dispatch_all
from tests.unit.webhooks.rows import make_form
from tests.unit.webhooks.side_by_side import run_side_by_side, shared_database

pytestmark = pytest.mark.django_db
HOUR = dt.timedelta(hours=1)
FREE_PAGES = 90


def hold(form: Form, count: int, *, most: int = 1000) -> list[uuid.UUID]:
    return [store(form, NOTHING, {}, hold=Hold("quota", most=most)).id for _ in range(count)]


def fill_hour(form: Form) -> None:
    """Use the hour's room for pages up, in this process."""
    taken, _ = ratelimit.reserve_for_pages(form.organization_id, 100, FREE_PAGES)
    assert (taken, ratelimit.reserve_for_pages(form.organization_id, 100)[0]) == (FREE_PAGES, 0)


def held_ids(form: Form) -> list[uuid.UUID]:
    return list(Submission.objects.filter(form=form, held="quota").order_by("pk").values_list("pk", flat=True))


def counted(form: Form) -> int:
    return Organization.objects.get(pk=form.organization_id).held_posts


def test_held__is_counted_but_not_dispatched() -> None:
    form = make_form()

    hold(form, 2)

    assert dispatch_all() == 0
    tally = Tally.objects.get(form=form)
    assert (tally.received, tally.kept, tally.spam) == (2, 2, 0)
    organization = Organization.objects.get(pk=form.organization_id)
    assert (organization.held_posts, (organization.stored_bytes or 0) > 0) == (2, True)


def test_held__as_many_as_there_may_be__refuses_the_next_and_stores_nothing() -> None:
    form = make_form()
    hold(form, 2, most=2)

    with pytest.raises(TooManyHeld):
        store(form, NOTHING, {}, once=Once("once", "page", ""), hold=Hold("quota", most=2))

    assert (Submission.objects.filter(form=form).count(), counted(form)) == (2, 2)
    assert store(form, NOTHING, {}, once=Once("once", "page", ""), hold=Hold("quota", most=3)).replayed is False


def test_release__full_hour__waits_for_the_next_one_and_counts_there() -> None:
    form = make_form()
    with time_machine.travel(now(), tick=True):
        fill_hour(form)
        ids = hold(form, 3)
        assert release_due() == 0
    with time_machine.travel(now() + HOUR, tick=True):
        assert release_due() == 3
        assert ratelimit.peek_organization(form.organization_id, 100).count == 3
        assert (held_ids(form), counted(form)) == ([], 0)
        assert dispatch_all() == 3
    rows = Submission.objects.filter(pk__in=ids)
    assert all(row.held_until == row.released_at and row.held_until for row in rows)
    tally = Tally.objects.get(form=form)
    assert (tally.received, tally.kept) == (3, 3)


def test_release__more_than_the_hour_takes__begins_with_the_oldest() -> None:
    form = make_form()
    ids = hold(form, FREE_PAGES + 5)

    with time_machine.travel(now() + HOUR, tick=True):
        assert release_due() == FREE_PAGES
        assert release_due() == 0

    assert held_ids(form) == ids[FREE_PAGES:]
    assert counted(form) == 5


def test_release__larger_plan__takes_effect_in_the_same_hour() -> None:
    form = make_form()
    fill_hour(form)
    hold(form, 2)

    Organization.objects.filter(pk=form.organization_id).update(plan="pro")

    assert release_due() == 2
    assert ratelimit.peek_organization(form.organization_id, 10_000).count == FREE_PAGES + 2


def test_release__by_another_process_than_counts_requests__knows_the_hour() -> None:
    form = make_form()
    fill = "from config.api import ratelimit; ratelimit.reserve_for_pages(uuid.UUID(sys.argv[1]), 100, 90)"
    code = f"import sys, uuid, django; django.setup(); {fill}"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.services.settings"}
    subprocess.run([sys.executable, "-c", code, str(form.organization_id)], env=environment, check=True, timeout=60)
    hold(form, 1)

    assert release_due() == 0
    Organization.objects.filter(pk=form.organization_id).update(plan="pro")
    assert release_due() == 1
    assert ratelimit.peek_organization(form.organization_id, 10_000).count == FREE_PAGES + 1


def test_hour__whose_file_cannot_be_written__is_counted_in_memory(settings: Settings, tmp_path: Path) -> None:
    form = make_form()
    broken = tmp_path / "hours"
    broken.touch()
    settings.DATA_DIR = tmp_path
    ratelimit.hours_directory.cache_clear()
    try:
        fill_hour(form)
    finally:
        ratelimit.hours_directory.cache_clear()


@pytest.mark.django_db(transaction=True)
def test_release__side_by_side__releases_each_once_and_counts_what_it_released(tmp_path: Path) -> None:
    with shared_database(tmp_path):
        form = make_form()
        hold(form, 20)
        with time_machine.travel(now() + HOUR, tick=True):
            released = sum(run_side_by_side(release_due))
            counts = ratelimit.peek_organization(form.organization_id, 100).count

        assert released + len(held_ids(form)) == 20
        assert (counts, counted(form)) == (released, len(held_ids(form)))


def test_hand__release_spam_and_delete__count_the_queue_down() -> None:
    form, foreign = make_form(), make_form()
    ids, others = hold(form, 4), hold(foreign, 1)

    assert release_many([ids[0], *others, new_id()], organization_id=form.organization_id) == 1
    assert mark_many([ids[1]], organization_id=form.organization_id, spam=True) == 1
    assert delete_many([ids[2]], organization_id=form.organization_id) == 1

    assert (held_ids(form), counted(form)) == ([ids[3]], 1)
    assert (held_ids(foreign), counted(foreign)) == (others, 1)
    assert Submission.objects.get(pk=ids[1]).held == ""
    assert dispatch_all() == 1
    tally = Tally.objects.get(form=form)
    assert (tally.received, tally.kept, tally.spam) == (4, 2, 1)


def test_count__without_rows__is_corrected_or_nothing_would_pass() -> None:
    form = make_form()
    Organization.objects.filter(pk=form.organization_id).update(held_posts=7)
    with time_machine.travel(now() + HOUR, tick=True):
        ratelimit.reserve_for_pages(form.organization_id, 100, 0)  # this process knows the hour

        assert release_due() == 0

        assert counted(form) == 0
        assert ratelimit.peek_organization(form.organization_id, 100).count == 0


def test_marks__that_cannot_be_written__fail_no_request_and_are_tried_again_after_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    form = make_form()
    monkeypatch.setattr("keys.hour_notices.notify_owners", lambda *given, **named: 1 / 0)
    marks = HourMark.objects.filter(organization=form.organization_id).order_by("percent")
    with time_machine.travel(dt.datetime(2026, 5, 1, tzinfo=dt.UTC), tick=False) as clock:
        fill_hour(form)
        usage = ratelimit.count_organization(form.organization_id, 100)
        for _ in range(3):
            ratelimit.note_marks(usage)
        assert [record.levelname for record in caplog.records if record.name == ratelimit.__name__] == ["ERROR"]
        assert not marks.exists()
        monkeypatch.undo()
        clock.shift(ratelimit.REPORT_AGAIN_SECONDS)
        ratelimit.note_marks(usage)
    assert list(marks.values_list("percent", flat=True)) == [80, 90]


def test_marks__of_many_requests__are_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    form = make_form()
    reported: list[Sequence[int]] = []
    monkeypatch.setattr(ratelimit, "_reports", [lambda _usage, marks: reported.append(marks)])
    fill_hour(form)
    for _ in range(20):
        ratelimit.note_marks(ratelimit.count_organization(form.organization_id, 100))
    assert reported == [[80, 90], [100]]


def test_marks__reached_again__are_shown_from_then_and_mailed_once_a_day() -> None:
    form = make_form()
    noon = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
    for hours in (0, 2, 4):
        with time_machine.travel(noon + hours * HOUR, tick=False):
            fill_hour(form)
            for _ in range(3):
                ratelimit.note_marks(ratelimit.count_organization(form.organization_id, 100))

    mark = HourMark.objects.get(organization=form.organization_id, percent=90)
    assert mark.reached_at == noon + 4 * HOUR
    assert Notice.objects.filter(organization=form.organization_id, kind="hour.90").count() == 1
