"""The log of an organization's deliveries and the story of a submission, as people see and use them."""

import html
import re
from typing import Any

from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver, Receiver, Reply
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, person_of, place, text_of
from tests.support.deliveries import deliveries_of, make_delivery
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from tests.support.webhooks import register


def address(tenant: Tenant) -> str:
    return f"team.{tenant.organization.slug}@example.net"


def wait_for(tenant: Tenant, status: str, count: int = 1) -> None:
    own = deliveries_of(tenant).filter(status=status)
    eventually(lambda: own.count() == count, because=f"{count} deliveries are {status}")


def rows_of(answer: Answer) -> list[str]:
    """Return the words of each row of the log."""
    body = answer.text.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = (html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in body.split("</tr>")[:-1])
    return [" ".join(row.split()) for row in rows]


def targets_of(answer: Answer, *known: str) -> list[str]:
    """Return the receiver of each row of the log, out of these."""
    return [next(name for name in known if name in row) for row in rows_of(answer)]


def test_log__filters__narrow_it_by_form_state_and_way(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver, smtp: MailReceiver
) -> None:
    mailed = tenant.form(name="Mailed", notification_recipients=[address(tenant)])
    register(api, tenant, receiver.url("/mailed"), mailed)
    other = str(register(api, tenant, receiver.url("/other"))["formId"])
    submit_and_get_id(api, tenant, mailed)
    submit_and_get_id(api, tenant, other)
    receiver.wait_for(2)
    smtp.wait_for(address(tenant))
    wait_for(tenant, "delivered", 3)
    receiver.reply = Reply(500)
    submit_and_get_id(api, tenant, other)
    receiver.wait_for(3)
    tried = deliveries_of(tenant).filter(status="pending", attempt_count__gt=0)
    eventually(tried.exists, because="the failure is recorded")

    notices = tenant.owner.email  # of the new webhooks
    known = ("/mailed", "/other", address(tenant), notices)
    for query, expected in {
        "": ["/other", "/other", "/mailed", address(tenant)],
        f"form={mailed}": ["/mailed", address(tenant)],
        f"form={other}": ["/other", "/other"],
        "channel=mail": [address(tenant)],
        "channel=webhook": ["/other", "/other", "/mailed"],
        f"form={mailed}&channel=mail&status=delivered": [address(tenant)],
        f"form={mailed}&status=undelivered": [],
        "status=undelivered": ["/other"],
        "status=failed": [],
        "form=frm_nonsense&channel=x&status=y&page=x": ["/other", "/other", "/mailed", address(tenant)],
    }.items():
        found = targets_of(owner.get(place(tenant, f"deliveries?{query}")), *known)
        assert sorted(name for name in found if name != notices) == sorted(expected), query


def test_log__more_than_a_page__is_paged_with_its_filters(tenant: Tenant, owner: Browser) -> None:
    ended: dict[str, Any] = {"status": "failed", "finished_at": "2026-01-01T00:00:00Z", "event": "webhook.disabled"}
    for number in range(30):
        make_delivery(f"n{number:02}@example.com", organization=tenant.organization, **ended)
    first = owner.get(place(tenant, "deliveries?status=failed&channel=mail"))
    assert [re.findall(r"n(\d\d)@", row)[0] for row in rows_of(first)] == [f"{n:02}" for n in range(29, 4, -1)]
    older = html.unescape(re.findall(r'rel="next"\s+href="([^"]+)"', first.text)[0])
    assert older == place(tenant, "deliveries?status=failed&channel=mail&page=2")
    second = owner.get(older)
    assert len(rows_of(second)) == 5
    assert 'rel="next"' not in second.text
    assert rows_of(owner.get(place(tenant, "deliveries?page=99"))) == []


def test_log__sent_again__goes_back_to_the_same_page_of_it(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    receiver.replies.append(Reply(500))
    form_id = str(register(api, tenant, receiver.url("/hook"))["formId"])
    submit_and_get_id(api, tenant, form_id)
    receiver.wait_for(1)
    tried = deliveries_of(tenant).filter(attempt_count=1)
    eventually(tried.exists, because="the failure is recorded")
    log = place(tenant, "deliveries?status=undelivered")
    action = re.search(r'action="([^"]+/retry[^"]*)"', owner.get(log).text)
    assert action
    answer = owner.post(html.unescape(action[1]), form=log)
    assert answer.headers["Location"] == log
    receiver.wait_for(2)
    wait_for(tenant, "delivered")
    detail = f"{html.unescape(action[1]).partition('?')[0]}?status=//evil.example&page=2"
    back = owner.post(detail, form=place(tenant), next="//evil.example").headers["Location"]
    assert back == place(tenant, "deliveries?status=%2F%2Fevil.example&page=2")


def test_log__of_a_member__can_be_read_and_not_acted_on(
    api: Client, tenant: Tenant, owner: Browser, member: Browser, receiver: Receiver
) -> None:
    form_id = str(register(api, tenant, receiver.url("/hook"))["formId"])
    pk = submit_and_get_id(api, tenant, form_id)
    wait_for(tenant, "delivered")
    for path in ("deliveries", f"submissions/{pk}", f"submissions/{pk}/story"):
        assert "Send again" in owner.get(place(tenant, path)).text, path
        seen = member.get(place(tenant, path))
        assert "Delivered" in seen.text, path
        assert "Send again" not in seen.text, path


def test_log__of_another_organization__does_not_exist(api: Client, tenant: Tenant, receiver: Receiver) -> None:
    form_id = str(register(api, tenant, receiver.url("/hook"))["formId"])
    pk = submit_and_get_id(api, tenant, form_id)
    wait_for(tenant, "delivered")
    delivery = deliveries_of(tenant).get()
    stranger = make_tenant()
    browser = logged_in(api, person_of(stranger))
    for path in ("deliveries", f"submissions/{pk}/story"):
        assert browser.get(place(tenant, path)).status == 404
    own = place(stranger)
    assert browser.get(place(stranger, f"submissions/{pk}/story")).status == 404
    assert browser.post(place(tenant, f"deliveries/{delivery.public_id}/retry"), form=own).status == 404
    assert browser.post(place(stranger, f"deliveries/{delivery.public_id}/retry"), form=own).status == 404
    assert rows_of(browser.get(place(stranger, f"deliveries?form={form_id}"))) == []
    assert len(receiver.requests) == 1


def test_story__while_something_is_pending__is_fetched_again_and_then_no_more(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    receiver.reply = Reply(503, body=b"</pre><script>alert(1)</script>")
    form_id = str(register(api, tenant, receiver.url("/hook"))["formId"])
    pk = submit_and_get_id(api, tenant, form_id)
    story = place(tenant, f"submissions/{pk}/story")
    page = eventually(
        lambda: "Next attempt" in (seen := owner.get(story)).text and seen, because="the failure is shown"
    )
    assert re.search(rf'hx-get="{story}"\s+hx-trigger="every 2s"', page.text)
    assert "<script>" not in page.text
    assert "</pre><script>alert(1)</script>" in html.unescape(page.text)
    receiver.reply = Reply(204)
    delivery = deliveries_of(tenant).get()
    owner.post(place(tenant, f"deliveries/{delivery.public_id}/retry"), form=place(tenant, f"submissions/{pk}"))
    page = eventually(lambda: "Delivered" in (seen := owner.get(story)).text and seen, because="the success is shown")
    assert "hx-get" not in page.text
    assert [re.findall(r"<strong>(.*?)</strong>", item)[0] for item in page.text.split("<li")[1:]] == [
        "Accepted and stored",
        "Dispatched",
        *["Attempt failed: the answer was not a 2xx status"] * (len(receiver.requests) - 1),
        "Attempt succeeded",
        "Delivered",
    ]


def test_story__webhook_that_gets_nothing_now__leads_to_it_instead_of_sending_again(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    made = register(api, tenant, receiver.url("/hook"))
    webhook = place(tenant, f"destinations/{made['id']}")
    owner.post(f"{webhook}/disable", form=webhook)
    pk = submit_and_get_id(api, tenant, str(made["formId"]))
    wait_for(tenant, "canceled")
    page = owner.get(place(tenant, f"submissions/{pk}"))
    assert "The destination is disabled: Disabled by hand." in text_of(page)
    assert re.search(rf'href="{webhook}"\s*>\s*Activate the destination first', page.text)
    assert "Send again" not in page.text
    assert "Send again" not in owner.get(webhook).text


def test_story__of_spam_and_back__is_told_in_order(api: Client, tenant: Tenant, owner: Browser) -> None:
    pk = submit_and_get_id(api, tenant, tenant.form(), {"name": "Ada", "_gotcha": "x"})
    detail = place(tenant, f"submissions/{pk}")
    page = eventually(lambda: "Spam is not delivered." in (seen := text_of(owner.get(detail))) and seen)
    assert "honeypot: _gotcha was filled in" in page
    owner.post(place(tenant, "submissions/act"), form=detail, do="not-spam", id=pk)
    page = eventually(lambda: "Without deliveries" in (seen := text_of(owner.get(detail))) and seen)
    assert page.index("Accepted and stored") < page.index("Marked as not spam") < page.index("Dispatched")
    assert Submission.objects.get(organization=tenant.organization).spam is False
