"""Confirmation by a mailed link (double opt-in): held until then, and in no list (docs/contract.md 10)."""

import datetime as dt
import hashlib
import json
import re
import secrets
from urllib.parse import urlsplit

import pytest

from config.base.times import now
from forms_app.actions import change_form
from forms_app.models import Form, FormerAddress
from keys.models import AuditEvent, Organization
from keys.organizations import set_plan
from keys.plans import Plan
from submissions.lifecycle.confirmation import purge_unconfirmed
from submissions.models import Consent, Submission
from tests.services.client import Client
from tests.services.receivers import MailReceiver, Receiver
from tests.services.waiting import eventually
from tests.support.answers.sending import REPLY, answering_form, decision, link_of, press, row_of, send, send_plainly
from tests.support.mail_links import text_part
from tests.support.rate_windows import counted_tenant, remaining
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import register

GONE_AFTER = dt.timedelta(days=14, minutes=1)


def address_of(tenant: Tenant) -> str:
    return f"ada.{tenant.organization.slug}@example.net"


def newsletter(tenant: Tenant, **values: object) -> str:
    return answering_form(tenant, **{"reply": None, "confirmation": True, **values})


def listed(api: Client, tenant: Tenant, query: str = "") -> list[str]:
    body = api.get(f"/api/submissions?{query}", tenant.key).json()
    assert body["pagination"]["total"] == len(body["data"])
    return [one["id"] for one in body["data"]]


def test_unconfirmed__is_in_no_list_export_or_cursor__but_with_held_all(api: Client) -> None:
    tenant = make_tenant()
    form_id = newsletter(tenant)
    other = submit_and_get_id(api, tenant, tenant.default_form_id)
    made = send(api, tenant, form_id, email=address_of(tenant))

    record = api.get(f"/api/submissions/{made}", tenant.key).json()["data"]
    assert record["held"] == "confirmation"
    assert listed(api, tenant) == listed(api, tenant, "held=false") == [other]
    assert listed(api, tenant, "held=true") == []
    assert listed(api, tenant, "held=all") == [made, other]
    assert listed(api, tenant, f"formId={form_id}&held=all&q=ada.test") == [made]
    assert listed(api, tenant, f"formId={form_id}&q=ada.test") == []
    read_on = f"/api/submissions?cursor=&formId={form_id}"
    assert api.get(read_on, tenant.key).json()["data"] == []
    export = f"/api/submissions/export?formId={form_id}&format=json"
    assert json.loads(api.get(export, tenant.key).text) == []
    assert json.loads(api.get(f"{export}&held=all", tenant.key).text) == [record]
    form = api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]
    assert (form["submissionCount"], form["confirmation"], form["reply"]) == (0, True, None)
    totals = api.get(f"/api/analytics?formId={form_id}", tenant.key).json()["data"]["totals"]
    assert totals["received"] == 1


def test_link__pressed__delivers_it__and_keeps_a_record(api: Client, smtp: MailReceiver, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id, address = newsletter(tenant), address_of(tenant)
    register(api, tenant, receiver.url(), form_id)
    made = send(api, tenant, form_id, email=address, name="Ada")
    (mail,) = smtp.wait_for(address)
    assert mail.message["Auto-Submitted"] == "auto-replied"
    link = link_of(mail)

    for method in ("GET", "HEAD"):
        page = api.request(method, link)
        assert (page.status, page.headers["Referrer-Policy"], page.headers["Cache-Control"]) == (
            200,
            "no-referrer",
            "no-store",
        )
    assert (row_of(made).held, api.get(link).text.count("<button")) == ("confirmation", 1)
    done = press(api, link)

    assert (done.status, "Confirmed" in done.text, "Set-Cookie" in done.headers) == (200, True, False)
    (delivered,) = receiver.wait_for(1)
    assert json.loads(delivered.body)["data"]["id"] == made
    assert listed(api, tenant, f"formId={form_id}") == [made]
    assert api.get(f"/api/forms/{form_id}", tenant.key).json()["data"]["submissionCount"] == 1
    cursor = api.get(f"/api/submissions?cursor=&formId={form_id}", tenant.key).json()["data"]
    assert [(one["id"], one["held"]) for one in cursor] == [(made, None)]
    consent = Consent.objects.get(submission=row_of(made))
    assert (consent.email, consent.confirmed_from) == (address, api.address)
    assert consent.asked_at is not None
    assert consent.confirmed_at is not None
    assert consent.asked_at <= consent.confirmed_at
    assert consent.text_sha256 == hashlib.sha256(consent.text.encode()).hexdigest()
    assert all(line in text_part(mail) for line in consent.text.split("\n")[1:])
    assert (press(api, link).status, len(receiver.wait_for(1))) == (200, 1)  # again: nothing changes
    totals = api.get(f"/api/analytics?formId={form_id}", tenant.key).json()["data"]["totals"]
    assert totals["received"] == 1
    assert AuditEvent.objects.filter(organization=tenant.organization, action="submissions.confirmed").count() == 1


def test_links__of_a_mail_before_the_address_of_the_form_changed__open(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    old, address = f"news-{secrets.token_hex(6)}", address_of(tenant)
    made = send(api, tenant, newsletter(tenant, address=old), email=address)
    (mail,) = smtp.wait_for(address)
    change_form(Form.objects.get(address=old), address=f"news-{secrets.token_hex(6)}")
    FormerAddress.objects.filter(address=old).update(given_up_at=now() - dt.timedelta(days=91))
    assert api.get(f"/f/{old}").status == 404
    links = [link for link in re.findall(r"https?://[^\s>]+", text_part(mail)) if "/f/" in link]
    assert [api.get(urlsplit(link).path).status for link in links] == [200, 200]
    assert (press(api, link_of(mail)).status, row_of(made).held) == (200, "")


def test_member__confirms_by_hand(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = newsletter(tenant)
    register(api, tenant, receiver.url(), form_id)
    made = send(api, tenant, form_id, email=address_of(tenant))

    answer = api.patch(f"/api/submissions/{made}", tenant.key, json={"held": None})

    assert (answer.status, answer.json()["data"]["held"]) == (200, None)
    receiver.wait_for(1)
    assert listed(api, tenant, f"formId={form_id}") == [made]
    assert Consent.objects.get(submission=row_of(made)).confirmed_at is None


def test_reply__after_confirming__has_every_declared_value__without_links(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    text = "Welcome {{ data.name }}, at {{ data.email }}. {{ data.topic }}"
    form_id, address = newsletter(tenant, reply={**REPLY, "text": text}), address_of(tenant)
    made = send(api, tenant, form_id, email=address, name="Ada evilhost.example/claim " + "x" * 300, topic="Sales")
    press(api, link_of(smtp.wait_for(address)[0]))

    reply = smtp.wait_for(address, 2)[1]

    assert decision(made) == ""
    written = text_part(reply).replace("\r\n", "\n")
    assert f"Welcome Ada {'x' * 195}…, at {address}. Sales" in written.replace("\n", " ")
    assert "evilhost" not in written


def test_secret_key__without_a_human_check__is_held_and_asks_nobody(api: Client) -> None:
    tenant = make_tenant()
    made = submit_and_get_id(api, tenant, newsletter(tenant), {"email": address_of(tenant)})

    assert (decision(made, "confirmation"), row_of(made).held) == ("no_check", "confirmation")


def test_second_sign_up__of_an_address_in_a_day__is_kept_and_not_mailed(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = newsletter(tenant), address_of(tenant)
    first, second = (send(api, tenant, form_id, email=address) for _ in range(2))

    assert [decision(one, "confirmation") for one in (first, second)] == ["", "form_address"]
    assert (row_of(second).held, len(smtp.wait_for(address))) == ("confirmation", 1)


def test_unconfirmed__after_14_days__is_deleted__and_its_link_is_gone(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id, address = newsletter(tenant), address_of(tenant)
    old, young = send(api, tenant, form_id, email=address), send(api, tenant, form_id, email=address)
    link = link_of(smtp.wait_for(address)[0])
    Consent.objects.filter(submission=row_of(old)).update(held_at=now() - GONE_AFTER)

    assert press(api, link).status == 404
    purge_unconfirmed()

    rows = Submission.objects.filter(organization=tenant.organization)
    assert [row.public_id for row in rows] == [young]
    assert press(api, link).status == 404
    assert AuditEvent.objects.filter(organization=tenant.organization, action="submissions.expired").count() == 1


def test_spam__on_a_form_with_confirmation__is_not_held_and_not_asked(api: Client) -> None:
    tenant = make_tenant()
    made = send(api, tenant, newsletter(tenant), email=address_of(tenant), _gotcha="x")
    assert (row_of(made).held, row_of(made).spam) == ("", True)
    assert not Consent.objects.filter(submission=row_of(made)).exists()


def test_spam__marked_as_not_spam__is_delivered_and_not_held(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = newsletter(tenant)
    register(api, tenant, receiver.url(), form_id)
    made = send(api, tenant, form_id, email=address_of(tenant), _gotcha="x")

    assert api.patch(f"/api/submissions/{made}", tenant.key, json={"spam": False}).status == 200

    receiver.wait_for(1)
    assert listed(api, tenant, f"formId={form_id}") == [made]


def test_visitor__is_asked_to_read_the_mail__also_after_spam(api: Client) -> None:
    tenant = make_tenant()
    form_id = newsletter(tenant)
    for values in ({}, {"_gotcha": "x"}):
        answer = send_plainly(api, form_id, email=address_of(tenant), **values)
        page = api.get(urlsplit(answer.headers["Location"]).path)
        assert (answer.status, "open the mail that we have sent you" in page.text) == (303, True)


def test_marked_as_spam__while_it_waits__cannot_be_confirmed(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    made = send(api, tenant, newsletter(tenant), email=address_of(tenant))
    link = link_of(smtp.wait_for(address_of(tenant))[0])

    assert api.patch(f"/api/submissions/{made}", tenant.key, json={"spam": True}).status == 200

    assert (press(api, link).status, row_of(made).spam) == (404, True)
    assert listed(api, tenant, "spam=true") == [made]


@pytest.mark.parametrize("token", ["x", "a" * 43, "%F0%9F%8E%89", "a" * 2000])
def test_link__unknown__is_404(api: Client, token: str) -> None:
    for kind in ("confirm", "no-mails"):
        for method in ("GET", "POST"):
            assert api.request(method, f"/f/{kind}/{token}").status == 404


def test_suspended_organization__its_links__confirm_nothing(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    made = send(api, tenant, newsletter(tenant), email=address_of(tenant))
    link = link_of(smtp.wait_for(address_of(tenant))[0])
    Organization.objects.filter(pk=tenant.organization.pk).update(suspended_at=now())

    assert (press(api, link).status, row_of(made).held) == (403, "confirmation")


def test_pages__speak_the_language_of_the_form(api: Client, smtp: MailReceiver) -> None:
    tenant = make_tenant()
    form_id = newsletter(tenant)
    Form.objects.filter(organization=tenant.organization).update(language="de")
    send(api, tenant, form_id, email=address_of(tenant))
    (mail,) = smtp.wait_for(address_of(tenant))

    assert 'lang="de"' in api.get(link_of(mail)).text
    assert 'lang="de"' in api.get(link_of(mail, "no-mails")).text


def test_over_the_hour__it_is_held_for_quota_first__then_for_confirmation(api: Client, smtp: MailReceiver) -> None:
    tenant = counted_tenant(api, rate_limit=20)
    form_id, address = newsletter(tenant), address_of(tenant)
    while remaining(api.get("/api/forms", tenant.key)) > 2:
        pass
    assert send_plainly(api, form_id, email=address).status == 303
    row = Submission.objects.get(organization=tenant.organization, form__confirmation=True)
    assert row.held == "quota"

    set_plan(Organization.objects.get(pk=tenant.organization.pk), Plan.ENTERPRISE, by=None, rate_limit=100_000)

    eventually(lambda: row_of(row.public_id).held == "confirmation", because="it has room in the hour")
    assert listed(api, tenant, f"formId={form_id}") == []
    assert press(api, link_of(smtp.wait_for(address)[0])).status == 200
    assert listed(api, tenant, f"formId={form_id}") == [row.public_id]
    assert Organization.objects.get(pk=tenant.organization.pk).held_posts == 0
