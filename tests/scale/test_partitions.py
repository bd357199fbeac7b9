"""
Submissions in partitions by month: made while a service takes submissions, and everything works over them.

One database of this module's own, which this process and one web process use. The tests build on each other.
"""

import dataclasses
import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction

from config.ids import Prefix, decode_id, made_at
from config.times import now
from forms_app.models import Form
from keys.models import Organization
from submissions.lifecycle.retention import purge_submissions
from submissions.lifecycle.spam_marks import delete_submissions
from submissions.models import Consent, Submission
from submissions.partitions import dropping
from submissions.partitions.catalog import is_partitioned, partitions, references
from submissions.partitions.conversion import BEFORE, partition_table, remove_left_over
from submissions.partitions.dropping import CannotDrop, drop_month, tend_partitions
from submissions.partitions.making import LATER, name_of
from submissions.partitions.months import later_month, start_of
from submissions.reading.listing import Scope, find_page
from submissions.storage import recount
from submissions.tally import total_of_form
from tests.scale.failing import failing_at
from tests.services.application import Application, LoneRole
from tests.services.client import Client
from tests.services.environment import POSTGRESQL, RARE_POLLS
from tests.services.processes import ROOT, free_port
from tests.services.waiting import eventually
from tests.support.rows import put, put_many
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery, Message
from webhooks.outbox.dispatch import dispatch_batch

pytestmark = pytest.mark.usefixtures("own_database")

ENOUGH = 15  # answers before, between and after the steps
FAILING = ("VALIDATE CONSTRAINT submission_id", "RENAME TO", "SET STATISTICS", "NOT VALID", "VALIDATE", "ANALYZE")


@pytest.fixture(scope="module")
def web(own_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    port = free_port()
    own = {"DATABASE_URL": own_database, "PORT": str(port), "PUBLIC_URL": f"http://127.0.0.1:{port}"}
    with LoneRole({**os.environ, **RARE_POLLS, **own}, tmp_path_factory.mktemp("web"), backend=POSTGRESQL) as role:
        yield role


@pytest.fixture(scope="module")
def tenant() -> Tenant:
    return make_tenant()


class Load:
    """One client that submits, until stopped."""

    def __init__(self, port: int, tenant: Tenant) -> None:
        self.answers: Counter[int] = Counter()
        self.stored: set[str] = set()
        self._port, self._tenant, self._stopping = port, tenant, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Load":
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with Client(self._port) as client:
            while not self._stopping.is_set():
                answer = client.post("/api/submit", self._tenant.key, json={"text": "Hello"})
                self.answers[answer.status] += 1
                if answer.status == 201:
                    self.stored.add(answer.json()["data"]["id"])

    def wait_for_more(self) -> None:
        wanted = self.answers.total() + ENOUGH
        eventually(lambda: self.answers.total() >= wanted, 30)


def kill_in_the_middle(database: str) -> None:
    """Kill the command while it waits for the swap: another transaction reads a table that refers to submissions."""
    with psycopg.connect(database) as reader, psycopg.connect(database, autocommit=True) as watcher:
        reader.execute("SELECT 1 FROM webhooks_delivery")
        command = subprocess.Popen(
            [sys.executable, "manage.py", "partition_submissions"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "tests.services.settings"},
        )
        waiting = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LOCK TABLE%' AND wait_event_type = 'Lock'"
        eventually(lambda: watcher.execute(waiting).fetchone(), 60)
        command.send_signal(signal.SIGKILL)
        command.wait()


def test_partition__killed_and_failing_under_load__loses_no_submission(
    web: Application, tenant: Tenant, own_database: str
) -> None:
    consented_id = decode_id(Prefix.SUBMISSION, put(tenant, tenant.default_form_id, {}))
    Consent.objects.create(submission_id=consented_id)
    with Load(web.port, tenant) as load:
        kill_in_the_middle(own_database)
        assert not is_partitioned()
        with time_machine.travel(start_of(later_month(now().date(), 2)) - dt.timedelta(days=1)):
            assert remove_left_over()  # the command had begun; the hourly clean-up does this
        load.wait_for_more()
        for part in FAILING:
            with failing_at(part) as failed, pytest.raises(KeyboardInterrupt):
                partition_table(lambda line: None)
            assert failed, part
        lines: list[str] = []
        partition_table(lines.append)
        load.wait_for_more()
    assert set(load.answers) == {201}, load.answers
    stored = {row.public_id for row in Submission.objects.filter(organization=tenant.organization)}
    assert stored >= load.stored
    assert len(stored) == len(load.stored) + 1
    assert is_partitioned()
    names = [one.name for one in partitions()]
    assert (names[0], names[-1]) == (BEFORE, LATER)
    assert all(one.is_validated for one in references())
    assert len(references()) == 4
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(IntegrityError), transaction.atomic():
            cursor.execute("DELETE FROM submissions_submission WHERE id = %s", [consented_id])
    assert delete_submissions([consented_id]) == 1
    assert not Consent.objects.filter(pk=consented_id).exists()


def test_schema__after_partitioning__is_that_of_the_models() -> None:
    """Django finds nothing to migrate, and the names of indexes and constraints as its migrations made them."""
    call_command("migrate", check_unapplied=True, verbosity=0)
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, Submission._meta.db_table)
    wanted = {each.name for each in [*Submission._meta.indexes, *Submission._meta.constraints]}
    assert wanted | {"submission_grams_of_text", "submissions_submission_pkey"} <= set(found)
    partition_table(lambda line: pytest.fail(f"nothing was left to do: {line}"))


@pytest.fixture(scope="module")
def months() -> list[dt.date]:
    """The first two months with a partition, both in the future."""
    first = partitions()[1].first
    assert first is not None
    month = made_at(first).date()
    return [month, later_month(month)]


@pytest.fixture(scope="module")
def other(months: list[dt.date]) -> Tenant:
    """An organization with a form of 7 submissions: 2 in the first partition, 3 and 2 in the next ones; dispatched."""
    other = make_tenant()
    form_id = other.form(notification_recipients=["ada@example.com"])
    put(other, form_id, {"text": "first kingfisher"})
    put(other, form_id, {"text": "second"})
    for month, number in zip(months, (3, 2), strict=True):
        for day in range(number):
            text = f"{month:%Y-%m} kingfisher {day}"
            put(other, form_id, {"text": text}, start_of(month) + dt.timedelta(days=day))
    while dispatch_batch():
        pass
    return other


def form_of(tenant: Tenant) -> Form:
    return Form.objects.get(organization=tenant.organization, is_default=False)


def rows_of(tenant: Tenant) -> Any:
    return Submission.objects.filter(organization=tenant.organization).order_by("pk")


def plan_of(rows: Any) -> list[tuple[str, int]]:
    """Return the partitions of a query's plan, and how often each was read."""
    (plan,) = json.loads(rows.explain(analyze=True, format="json"))

    def found(node: dict[str, Any]) -> Iterator[tuple[str, int]]:
        if "Relation Name" in node:
            yield node["Relation Name"], node["Actual Loops"]
        for inner in node.get("Plans", []):
            yield from found(inner)

    return list(found(plan["Plan"]))


def test_reading__over_three_partitions__is_as_over_one_table(web: Application, other: Tenant) -> None:
    rows = list(rows_of(other))
    assert len(rows) == 7
    assert [row.position for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert Delivery.objects.filter(submission__in=rows).count() == 7
    newest = [row.pk for row in reversed(rows)]
    scope = Scope(other.organization.pk)
    assert [row.pk for row in find_page(scope, number=1, size=25).rows] == newest
    assert [row.pk for row in find_page(scope, number=2, size=3).rows] == newest[3:6]
    found = find_page(dataclasses.replace(scope, text="kingfisher"), number=1, size=25)
    assert [row.pk for row in found.rows] == [pk for pk in newest if pk != rows[1].pk]
    with Client(web.port) as client:
        public = [row.public_id for row in reversed(rows)]
        listed = client.get("/api/submissions?limit=100", other.key).json()["data"]
        assert [one["id"] for one in listed] == public
        lines = client.get("/api/submissions/export?format=ndjson", other.key).text.splitlines()
        assert sorted(json.loads(line)["id"] for line in lines) == sorted(public)
        one = client.get(f"/api/submissions/{public[0]}", other.key)
        assert (one.status, one.json()["data"]["data"]["text"]) == (200, rows[-1].data["text"])


def test_plans__of_lists_and_of_one_row__leave_out_older_partitions(months: list[dt.date]) -> None:
    """With a DEFAULT partition each list would read the newest row of every month."""
    busy = make_tenant()
    hidden = put(busy, busy.default_form_id, {"text": "kingfisher"})
    for moment in (None, *(start_of(month) + dt.timedelta(days=1) for month in months)):
        put_many(busy, busy.default_form_id, [{"text": "x"}] * 1_500, moment)
    rows_of(busy).update(dispatched_at=now(), counted_as=Submission.CountedAs.KEPT, is_read=True)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE submissions_submission")
    plan = dict(plan_of(rows_of(busy).order_by("-pk")[:25]))
    assert plan[name_of(months[1])] == 1
    assert (plan[name_of(months[0])], plan[BEFORE]) == (0, 0)
    newest = rows_of(busy).last()
    assert plan_of(Submission.objects.filter(pk=newest.pk)) == [(name_of(months[1]), 1)]
    assert plan_of(Submission.objects.filter(pk__gte=newest.pk, pk__lte=newest.pk)) == [(name_of(months[1]), 1)]
    assert len(plan_of(Submission.objects.dispatchable().order_by("pk")[:200])) == len(partitions())
    found = find_page(Scope(busy.organization.pk, text="kingfisher"), number=1, size=25)  # by the index, after a sample
    assert [row.public_id for row in found.rows] == [hidden]
    rows_of(busy).delete()


def test_clean_up__a_month_later__makes_the_next_partition_like_the_others(months: list[dt.date]) -> None:
    wanted = [BEFORE, *(name_of(later_month(months[0], number)) for number in range(4)), LATER]
    before = [one.name for one in partitions()]
    assert before[:-1] in (wanted[:3], wanted[:4])  # in the last week of a month the first partition is a month later
    with time_machine.travel(start_of(months[0])):
        tend_partitions()
        tend_partitions()
    assert [one.name for one in partitions()] == wanted
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT reloptions::text FROM pg_class WHERE relkind = 'r' AND starts_with(relname, %s)",
            [Submission._meta.db_table],
        )
        assert cursor.fetchall() == [("{autovacuum_vacuum_scale_factor=0.05}",)]
        cursor.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attstattarget = 0 "
            "AND a.attnum > 0 WHERE starts_with(c.relname, 'submission')"
        )
        assert cursor.fetchall() == [(len(partitions()) + 1,)]  # the search index of each, and of the whole


def test_clean_up__with_rows_in_later_or_a_table_in_use__changes_nothing(
    months: list[dt.date], other: Tenant, own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = partitions()
    far = later_month(months[0], 6)
    put(other, other.default_form_id, {"text": "far"}, start_of(far))
    with time_machine.travel(start_of(later_month(months[0], 2))):
        tend_partitions()
        assert partitions() == before
        rows_of(other).filter(form__is_default=True).delete()
        monkeypatch.setattr(dropping, "HOURLY_PAUSES", ())
        with psycopg.connect(own_database) as reader:
            reader.execute("SELECT 1 FROM submissions_submission")
            tend_partitions()
        assert partitions() == before
        tend_partitions()
        assert len(partitions()) > len(before)  # there was something to do each time


def test_drop__of_a_month__deletes_its_rows_with_all_that_belongs_to_them(months: list[dt.date], other: Tenant) -> None:
    form = form_of(other)
    gone = list(rows_of(other)[2:5])
    lines: list[str] = []
    with pytest.raises(CannotDrop, match="is not over"):
        drop_month(months[0], lines.append)
    with pytest.raises(CannotDrop, match="has no partition"):
        drop_month(dt.date(2020, 1, 1), lines.append)
    with time_machine.travel(start_of(months[1]) + dt.timedelta(days=3)):
        with pytest.raises(CommandError, match="This deletes 3 submissions"):
            call_command("partition_submissions", drop=f"{months[0]:%Y-%m}")
        Organization.objects.filter(pk=other.organization.pk).update(suspended_at=now())
        with pytest.raises(CannotDrop, match=other.organization.slug):
            drop_month(months[0], lines.append)
        Organization.objects.filter(pk=other.organization.pk).update(suspended_at=None)
        assert rows_of(other).count() == 7
        with failing_at("DETACH PARTITION"), pytest.raises(KeyboardInterrupt):
            drop_month(months[0], lines.append)
        assert name_of(months[0]) in [one.name for one in partitions()]
        assert drop_month(months[0], lines.append) == 0  # the first attempt has deleted the rows
    assert lines == ["3 submissions are deleted"]
    assert name_of(months[0]) not in [one.name for one in partitions()]
    assert rows_of(other).count() == 4
    assert total_of_form(form.pk, spam=False, using="default") == 4
    assert not Message.objects.filter(submission__in=gone).exists()
    assert not Delivery.objects.filter(submission__in=gone).exists()
    stored = Organization.objects.get(pk=other.organization.pk).stored_bytes
    assert stored == recount(other.organization) > 0


def test_retention__that_empties_a_month__has_the_clean_up_drop_its_partition(
    months: list[dt.date], other: Tenant
) -> None:
    form = form_of(other)
    Form.objects.filter(pk=form.pk).update(retention_days=20)
    with time_machine.travel(start_of(later_month(months[1])) + dt.timedelta(days=21)):
        assert purge_submissions() == 4
        tend_partitions()
    names = [one.name for one in partitions()]
    assert name_of(months[1]) not in names
    assert BEFORE in names  # has the rows of the first test
    assert total_of_form(form.pk, spam=False, using="default") == 0
    assert Organization.objects.get(pk=other.organization.pk).stored_bytes == 0
