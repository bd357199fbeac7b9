"""Mails about submissions sent again, by the organization and by operators (docs/contract.md 7.41)."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models.functions import Now

from config.base.ids import Prefix, decode_id, new_id
from config.base.times import now
from forms_app.models import Form, Recipient
from keys.models import AuditEvent, Organization
from submissions.models import Submission
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.command_line import complaint, output
from tests.support.deliveries import make_delivery
from tests.support.replies import SECONDS
from tests.support.rows import row
from tests.support.submitting import submit_and_get_id
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery

PATH = "/api/deliveries/replay"
DAY = dt.timedelta(days=1)


def today(**values: Any) -> dict[str, Any]:
    day = now().date()
    return {"channel": "mail", "from": f"{day - DAY}", "to": f"{day + DAY}", **values}


def ana(tenant: Tenant) -> str:
    """Return an address that only this test knows."""
    return f"ana.{tenant.organization.slug}@example.net"


def failed_mail(tenant: Tenant, form_id: str, to: str, **values: Any) -> Delivery:
    """Store a mail about a new submission of the form, which failed unless `values` say otherwise."""
    about = row(tenant, form_id, {"n": "1"}, spam=values.pop("spam", False))
    about.dispatched_at = now()  # or the service would make deliveries too
    about.counted_as = Submission.CountedAs.SPAM if about.spam else Submission.CountedAs.KEPT
    about.save(force_insert=True)
    start = {"status": "failed", "finished_at": now(), "attempt_count": 4}
    return make_delivery(to, submission=about, **start | values)


def status_of(delivery: Delivery) -> str:
    return Delivery.objects.get(pk=delivery.pk).status


def test_replay__of_failed_mails__sends_them_with_their_message_id(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form(notification_recipients=[ana(tenant)])
    smtp.rejections[ana(tenant)] = "550 the relay is blocked"
    for number in range(2):
        submit_and_get_id(api, tenant, form_id, {"n": str(number)})
    failed = Delivery.objects.filter(target=ana(tenant), status="failed")
    eventually(lambda: failed.count() == 2)
    ids = {f"<{one.public_id}@[127.0.0.1]>" for one in failed}
    del smtp.rejections[ana(tenant)]
    counted = api.post(PATH, tenant.key, json=today(dryRun=True)).json()
    assert counted["data"] == {"matched": 2, "replayed": 0, "dryRun": True}
    answer = api.post(PATH, tenant.key, json=today(), headers={"Idempotency-Key": "once"})
    assert (answer.status, answer.json()["data"]) == (200, {"matched": 2, "replayed": 2, "dryRun": False})
    assert {mail.message["Message-ID"] for mail in smtp.wait_for(ana(tenant), 2)} == ids
    again = api.post(PATH, tenant.key, json=today(), headers={"Idempotency-Key": "once"})
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (answer.json(), "true")
    event = AuditEvent.objects.get(organization=tenant.organization, action="mails.replayed")
    assert event.subject == "2 mails"


def stopped(form: Form, address: str) -> dict[str, Any]:
    Recipient.objects.filter(form=form, email=address).update(stopped_at=now())
    return {}


def removed(form: Form, _address: str) -> dict[str, Any]:
    Form.objects.filter(pk=form.pk).update(notification_recipients=["bo@example.net"])
    return {}


def unconfirmed(form: Form, address: str) -> dict[str, Any]:
    Recipient.objects.filter(form=form, email=address).update(confirmed_at=None)
    return {}


@pytest.mark.parametrize(
    "arrange",
    first_on_both(
        [
            stopped,
            removed,
            unconfirmed,
            lambda *_: {"spam": True},
            lambda *_: {"status": "delivered"},
            lambda *_: {"lease_token": new_id(), "lease_until": Now() + dt.timedelta(minutes=1)},
            lambda *_: {"event": "submitter.reply"},
            lambda *_: {"event": "submitter.asked"},
            lambda *_: {"status": "canceled"},
        ]
    ),
    ids=["stopped", "removed", "unconfirmed", "spam", "delivered", "being-sent", "reply", "question", "canceled"],
)
def test_replay__of_a_mail_that_must_not_go__leaves_it_and_sends_the_other(
    api: Client, arrange: Callable[[Form, str], dict[str, Any]]
) -> None:
    tenant = make_tenant()
    form_id, other_id = (tenant.form(notification_recipients=[ana(tenant)]) for _ in range(2))
    form = Form.objects.get(pk=decode_id(Prefix.FORM, form_id))
    left = failed_mail(tenant, form_id, ana(tenant), **arrange(form, ana(tenant)))
    before = Delivery.objects.filter(pk=left.pk).values().get()
    failed_mail(tenant, other_id, ana(tenant).upper())  # the same address
    answer = api.post(PATH, tenant.key, json=today())
    assert answer.json()["data"] == {"matched": 1, "replayed": 1, "dryRun": False}
    assert Delivery.objects.filter(pk=left.pk).values().get() == before


def test_replay__by_status_form_and_time__takes_these_alone(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    first, second = (tenant.form(notification_recipients=[ana(tenant)]) for _ in range(2))
    failed_mail(tenant, first, ana(tenant))
    failed_mail(tenant, second, ana(tenant))
    failed_mail(tenant, second, ana(tenant), status="canceled")
    failed_mail(other, other.form(notification_recipients=[ana(tenant)]), ana(tenant))

    def matched(**values: Any) -> int:
        counted: int = api.post(PATH, tenant.key, json=today(dryRun=True, **values)).json()["data"]["matched"]
        return counted

    assert [matched(status=one) for one in ("failed", "canceled", "undelivered")] == [2, 1, 3]
    assert [matched(formId=one, status="undelivered") for one in (first, second)] == [1, 2]
    past, future = f"{now().date() - DAY}", f"{now().date() + DAY}"
    assert [matched(to=past), matched(**{"from": future}), matched(to=f"{now().date()}")] == [0, 0, 2]


@pytest.mark.parametrize(
    ("change", "field"),
    first_on_both(
        [
            ({"channel": None}, "channel"),
            ({"channel": "webhook"}, "channel"),
            ({"from": None}, "from"),
            ({"to": None}, "to"),
            ({"to": "tomorrow"}, "to"),
            ({"status": "all"}, "status"),
            ({"status": "delivered"}, "status"),
            ({"formId": "frm_1"}, "formId"),
            ({"dryRun": "yes"}, "dryRun"),
            ({"more": 1}, "more"),
        ],
        3,
    ),
)
def test_replay__with_a_wrong_or_missing_value__is_refused(api: Client, change: dict[str, Any], field: str) -> None:
    tenant = make_tenant()
    body = {name: value for name, value in today(**change).items() if value is not None}
    answer = api.post(PATH, tenant.key, json=body)
    assert (answer.status, [one["field"] for one in answer.json()["details"]]) == (400, [field])


def test_replay__of_a_foreign_or_unknown_form__is_403_and_404(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    foreign = api.post(PATH, tenant.key, json=today(formId=other.form()))
    unknown = api.post(PATH, tenant.key, json=today(formId="frm_01jz0000000000000000000000"))
    assert (foreign.status, unknown.status) == (403, 404)


def test_replays_of_mails__over_the_limits__are_429_and_dry_runs_are_not_counted(
    shared_service: Callable[..., Application],
) -> None:
    tenant = make_tenant()
    with Client(shared_service(TEST_EVENTS="2/h", REPLAYS="2/h").port) as limited:
        for expected in (200, 200, 429):
            assert limited.post(PATH, tenant.key, json=today(dryRun=True)).status == 200
            answer = limited.post(PATH, tenant.key, json=today())
            assert answer.status == expected
    assert answer.headers["Retry-After"] == SECONDS


def test_replays_of_mails__of_more_than_ten_times_the_plan__send_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(notification_recipients=[ana(tenant)])
    mails = [failed_mail(tenant, form_id, ana(tenant)) for _ in range(11)]
    Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)
    over = api.post(PATH, tenant.key, json=today())
    assert (over.status, "At most 10 deliveries can be sent again" in over.json()["message"]) == (429, True)
    assert {status_of(one) for one in mails} == {"failed"}


def test_command__for_an_organization_and_for_all__sends_without_a_limit(
    service: Application, smtp: MailReceiver
) -> None:
    tenants = [make_tenant() for _ in range(2)]
    for tenant in tenants:
        form_id = tenant.form(notification_recipients=[ana(tenant)])
        for _ in range(11):
            failed_mail(tenant, form_id, ana(tenant))
        Organization.objects.filter(pk=tenant.organization.pk).update(rate_limit=1)
    day = now().date()
    span = ("--from", f"{day - DAY}", "--to", f"{day + DAY}")
    first, second = (tenant.organization.slug for tenant in tenants)
    counted = output(service, "replay_mails", first, *span, "--dry-run").splitlines()
    assert counted == [f"{first}: 11", "11 mails would be sent again."]
    everywhere = output(service, "replay_mails", "--all", *span).splitlines()
    assert {f"{first}: 11", f"{second}: 11"} <= set(everywhere)
    for tenant in tenants:
        smtp.wait_for(ana(tenant), 11)
    assert output(service, "replay_mails", first, *span).splitlines() == ["0 mails are sent again."]
    event = AuditEvent.objects.get(organization=tenants[0].organization, action="mails.replayed")
    assert (event.actor.startswith("system user "), event.subject) == (True, "11 mails")


@pytest.mark.on_sqlite
def test_command__without_an_organization_or_a_range__says_what_is_missing(service: Application) -> None:
    span = ("--from", "2026-01-01", "--to", "2026-01-02")
    assert "Name an organization, or give --all." in complaint(service, "replay_mails", *span)
    assert "no organization with the slug 'nobody'" in complaint(service, "replay_mails", "nobody", *span)
    assert "--from" in complaint(service, "replay_mails", "--all")
    assert "--from" in complaint(service, "replay_mails", "--all", "--from", "soon", "--to", "2026-01-02")
