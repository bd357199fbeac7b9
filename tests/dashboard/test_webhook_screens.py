"""Webhooks in the dashboard: create, test, resend, rotate, replay; activate a pending one."""

import datetime as dt
import html
import json
import re

import pytest

from tests.services.client import Answer, Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.browser import Browser, logged_in, member_of, person_of, place, text_of
from tests.support.deliveries import deliveries_of, make_delivery
from tests.support.rows import row
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery
from webhooks.models import Receiver as ReceiverRow

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


def create(browser: Browser, tenant: Tenant, form_id: str, url: str) -> Answer:
    path = place(tenant, "destinations/new/webhook")
    once = re.search(r'name="once" value="([^"]+)"', browser.get(path).text)
    assert once
    return browser.post(path, form=path, form_=form_id, config__url=url, do="save", once=once[1])


def only_webhook(tenant: Tenant) -> ReceiverRow:
    return ReceiverRow.objects.get(organization=tenant.organization)


def test_webhook__created__shows_its_secret_once_and_delivers(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    answer = create(owner, tenant, form_id, receiver.url("/hook"))
    secret = SECRET.search(answer.text)
    assert secret
    assert answer.headers["Cache-Control"] == "no-store"
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    receiver.wait_for(1)
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    eventually(lambda: "Delivered" in text_of(owner.get(page)))
    for path in (page, place(tenant, "destinations"), place(tenant, "deliveries"), f"{page}/rotate"):
        assert "whsec_" not in owner.get(path).text


def test_webhook__mode__is_chosen_shown_and_changed(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    path = place(tenant, "destinations/new/webhook")
    once = re.search(r'name="once" value="([^"]+)"', owner.get(path).text)
    assert once
    values = {"form_": tenant.form(), "config__url": receiver.url("/hook"), "do": "save", "once": once[1]}
    assert owner.post(path, form=path, **values, mode="never").status == 400
    owner.post(path, form=path, **values, mode="test")
    made = only_webhook(tenant)
    page, edit = (place(tenant, f"destinations/{made.public_id}{part}") for part in ("", "/edit"))
    assert made.mode == "test"
    for mode, words in (("both", "Live and test submissions"), ("test", "Test submissions"), ("live", "")):
        owner.post(edit, form=edit, do="mode", mode=mode)
        assert api.get(f"/api/webhooks/{made.public_id}", tenant.key).json()["data"]["mode"] == mode
        for seen in (page, place(tenant, "destinations")):
            assert words in text_of(owner.get(seen))
    assert "est submissions" not in text_of(owner.get(page))
    assert owner.post(edit, form=edit, do="mode", mode="never").status == 400
    assert only_webhook(tenant).mode == "live"


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://10.0.0.1/hook", "private or special address"),
        ("https://user:pw@example.com/", "user"),
        ("ftp://example.com/", "http"),
        ("nonsense", "URL"),
    ],
)
def test_webhook__address_that_may_not_be_called__is_refused_at_its_field(
    tenant: Tenant, owner: Browser, url: str, words: str
) -> None:
    answer = create(owner, tenant, tenant.form(), url)
    assert answer.status == 400
    assert words.lower() in text_of(answer).lower()
    assert 'aria-invalid="true"' in answer.text
    assert not ReceiverRow.objects.filter(organization=tenant.organization).exists()


def test_webhook__that_failed__is_sent_again_and_its_answer_is_shown_as_text(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    create(owner, tenant, form_id, receiver.url("/hook"))
    receiver.reply = Reply(500, body=b"<script>alert(1)</script> down for lunch")
    pk = submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    receiver.wait_for(1)
    detail = place(tenant, f"submissions/{pk}")
    page = eventually(lambda: "Next attempt" in (seen := owner.get(detail)).text and seen)
    assert "down for lunch" in page.text
    assert "<script>alert(1)" not in page.text
    assert "Attempt failed: the answer was not a 2xx status" in text_of(page)
    assert pk in owner.get(place(tenant, "submissions?undelivered=on")).text
    assert "Pending" in text_of(owner.get(place(tenant, "deliveries?status=undelivered")))
    delivery = deliveries_of(tenant).get()
    receiver.reply = Reply()
    answer = owner.post(place(tenant, f"deliveries/{delivery.public_id}/retry"), form=detail, submission=pk)
    assert answer.headers["Location"] == detail
    first, second = receiver.wait_for(2)[:2]
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    told = eventually(lambda: "Delivered" in (seen := text_of(owner.get(f"{detail}/story"))) and seen)
    assert told.index("Attempt failed") < told.index("Delivered")
    assert pk not in owner.get(place(tenant, "submissions?undelivered=on")).text


def test_webhook__named_by_a_page__gets_what_waited_with_one_click(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    pk = submit_and_get_id(api, tenant, form_id, {"name": "Ada", "_webhook": receiver.url("/named")})
    page = place(tenant, "destinations")
    eventually(lambda: "Requested by a page, not active yet" in owner.get(page).text)
    eventually(lambda: "Held" in text_of(owner.get(place(tenant, f"submissions/{pk}"))))
    assert receiver.requests == []
    webhook = only_webhook(tenant)
    active = owner.follow(owner.post(f"{page}/{webhook.public_id}/activate", form=page))
    assert "The destination is active. 1 held delivery is being sent." in text_of(active)
    assert "Replay them" not in active.text
    told = receiver.wait_for(1)[0]
    assert pk.removeprefix("sub_") in told.headers["webhook-id"]


def test_webhook__rotated__shows_the_new_secret_and_both_sign(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    old = SECRET.search(create(owner, tenant, form_id, receiver.url("/hook")).text)
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    new = SECRET.search(owner.send(f"{page}/rotate").text)
    assert old
    assert new
    assert old[0] != new[0]
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    assert len(receiver.wait_for(1)[0].headers["webhook-signature"].split()) == 2


def test_webhook__disabled__tells_nobody_and_a_replay_brings_what_it_missed(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    create(owner, tenant, form_id, receiver.url("/hook"))
    webhook = only_webhook(tenant)
    page = place(tenant, f"destinations/{webhook.public_id}")
    owner.post(f"{page}/disable", form=page)
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    eventually(lambda: Delivery.objects.filter(receiver=webhook, status="canceled").exists())
    refused = owner.send(f"{page}/replay", status="undelivered", do="count")
    assert "Activate it first" in text_of(refused)
    active = owner.follow(owner.post(f"{page}/activate", form=page))
    assert "being sent" not in text_of(active)
    assert "Canceled deliveries are not sent automatically: 1 is in the log. Replay them" in text_of(active)
    offered = re.search(r'href="([^"]+)">Replay them</a>', active.text)
    assert offered
    assert re.search(r'<option value="canceled" selected', owner.get(offered[1]).text)
    counted = owner.send(f"{page}/replay", status="undelivered", do="count")
    assert "1 delivery matches." in text_of(counted)
    assert receiver.requests == []
    owner.send(f"{page}/replay", status="undelivered", do="replay")
    receiver.wait_for(1)
    swapped = owner.send(
        f"{page}/replay", **{"from": "2026-02-01", "to": "2026-01-01", "status": "all", "do": "replay"}
    )
    assert "Swap them" in text_of(swapped)


def test_webhook__deleted__goes_with_its_log(tenant: Tenant, owner: Browser, receiver: Receiver) -> None:
    create(owner, tenant, tenant.form(), receiver.url("/hook"))
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    assert owner.send(f"{page}/delete").headers["Location"] == place(tenant, "destinations")
    assert owner.get(page).status == 404


def test_webhooks__of_a_member__are_to_be_read_alone(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    create(owner, tenant, tenant.form(), receiver.url("/hook"))
    member = logged_in(api, member_of(tenant.organization, "member"))
    page = member.get(place(tenant, f"destinations/{only_webhook(tenant).public_id}")).text
    assert "Send a test" not in page
    assert "Rotate secret" not in page
    assert "New destination" not in member.get(place(tenant, "destinations")).text


def test_webhook__test_event__arrives_and_its_result_is_fetched_into_the_log(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    create(owner, tenant, tenant.form(), receiver.url("/hook"))
    receiver.reply = Reply(200, delay=1.0)  # so that the page is seen before the answer
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    sent = owner.post(f"{page}/test", form=page)
    waiting = owner.follow(sent)
    assert "shows the result of the test." in text_of(waiting)
    assert f'hx-get="{page}"' in waiting.text
    piece = eventually(
        lambda: "Delivered" in (seen := owner.get(page, HX_Request="true")).text and seen, 10, "the result is fetched"
    )
    assert "<h1" not in piece.text
    assert "Test event" in text_of(piece)
    assert "1 attempt" in text_of(piece)
    assert re.search(r'id="results"[^>]*hx-swap-oob="true"', piece.text)
    assert all(
        figure in text_of(piece) for figure in ("100 % Of 1 delivery", "Last response 200", "Everything is sent")
    )
    assert "hx-get" not in piece.text  # nothing more to wait for
    assert json.loads(receiver.wait_for(1)[0].body)["data"]["test"] is True


@pytest.mark.on_sqlite
def test_webhook__url_changed_to_one_that_may_not_be_called__is_told_at_the_field(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    create(owner, tenant, tenant.form(), receiver.url("/hook"))
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    for url, words in [
        ("http://10.0.0.1/", "private or special address"),
        ("http://127.0.0.1/" + "x" * 3000, "2048 characters"),
        ("", "required"),
    ]:
        answer = owner.post(f"{page}/edit", form=page, do="save", config__url=url)
        assert answer.status == 400
        assert words in text_of(answer)
        assert 'aria-invalid="true"' in answer.text
    assert only_webhook(tenant).url == receiver.url("/hook")
    owner.post(f"{page}/edit", form=page, do="save", config__url=receiver.url("/moved"))
    owner.post(f"{page}/test", form=page)
    assert receiver.wait_for(1)[0].path == "/moved"


@pytest.mark.on_sqlite
def test_webhook__hostile_url__is_shown_as_text(tenant: Tenant, owner: Browser, receiver: Receiver) -> None:
    create(owner, tenant, tenant.form(), receiver.url('/"><img/src=x>'))
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    for path in (page, place(tenant, "destinations"), f"{page}/rotate", f"{page}/delete", f"{page}/replay"):
        answer = owner.get(path)
        assert "<img/src" not in answer.text
        assert '/"><img/src=x>' in html.unescape(answer.text)


def test_webhook__answer_of_a_rotation_loaded_again__does_not_drop_the_secret_in_use(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    first = SECRET.search(create(owner, tenant, tenant.form(), receiver.url("/hook")).text)
    page = place(tenant, f"destinations/{only_webhook(tenant).public_id}")
    asked = re.search(r'name="seen" value="([^"]*)"', owner.get(f"{page}/rotate").text)
    assert asked
    answer = owner.send(f"{page}/rotate", seen=asked[1])
    assert SECRET.search(answer.text)
    assert answer.headers["Cache-Control"] == "no-store"
    again = owner.send(f"{page}/rotate", seen=asked[1])  # as a reload sends it
    assert again.status == 302
    assert "rotated already" in text_of(owner.follow(again))
    webhook = only_webhook(tenant)
    assert first
    assert webhook.previous_secret == first[0]
    for path in (page, place(tenant, "destinations"), f"{page}/rotate", place(tenant, "deliveries"), place(tenant)):
        assert "whsec_" not in owner.get(path).text


def test_webhook__of_all_forms__is_the_first_choice_and_works_without_a_form(
    tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    offered = re.findall(
        r'<option value="([^"]+)"( selected)?', owner.get(place(tenant, "destinations/new/webhook")).text
    )
    modes = [("live", " selected"), ("test", ""), ("both", "")]
    assert offered == [("all", " selected"), (tenant.default_form_id, ""), *modes]
    stranger, form_id = make_tenant(), tenant.form(name="Jobs")
    assert create(owner, tenant, stranger.default_form_id, receiver.url("/hook")).status == 400
    assert SECRET.search(create(owner, tenant, "all", receiver.url("/hook")).text)
    refused = create(owner, tenant, form_id, receiver.url("/hook"))
    assert refused.status == 400
    assert "A webhook of all forms has this URL already" in text_of(refused)
    wide = ReceiverRow.objects.get(organization=tenant.organization)
    page = place(tenant, f"destinations/{wide.public_id}")
    seen = eventually(lambda: "Webhook, for all forms, since" in (text := text_of(owner.get(page))) and text)
    assert wide.url in seen
    assert re.search(
        rf"{re.escape(wide.url)}\s+Webhook\s+All forms\s+Active", text_of(owner.get(place(tenant, "destinations")))
    )
    for path, words in (
        (f"forms/{form_id}", "1 destination"),
        ("find?q=hook", "All forms"),
        (f"deliveries?form={form_id}", ""),
    ):
        assert words in text_of(owner.get(place(tenant, path)))
    owner.post(f"{page}/test", form=page)
    assert owner.post(f"{page}/disable", form=page).status == 302
    assert "Nothing is sent." in text_of(owner.get(page))
    assert logged_in(owner.api, person_of(stranger)).get(page).status == 404


def test_webhook__form_sent_twice__makes_one(tenant: Tenant, owner: Browser, receiver: Receiver) -> None:
    path, form_id = place(tenant, "destinations/new/webhook"), tenant.form()
    once = re.search(r'name="once" value="([^"]+)"', owner.get(path).text)
    assert once
    values = {"form_": form_id, "config__url": receiver.url("/hook"), "do": "save", "once": once[1]}
    assert SECRET.search(owner.post(path, form=path, **values).text)
    again = owner.post(path, form=path, **values)
    assert "created already" in text_of(owner.follow(again))
    assert only_webhook(tenant)


def test_replay__days__are_those_of_the_user(tenant: Tenant, owner: Browser, receiver: Receiver) -> None:
    owner.send("/dashboard/account/time-zone", zone="Pacific/Honolulu")
    form_id = tenant.form()
    create(owner, tenant, form_id, receiver.url("/hook"))
    webhook = only_webhook(tenant)
    late = row(tenant, form_id, {"name": "Ada"}, dt.datetime(2026, 3, 2, 9, 59, tzinfo=dt.UTC))  # 23:59 in Honolulu
    late.save(force_insert=True)
    make_delivery(webhook, submission=late, status="failed")
    page = place(tenant, f"destinations/{webhook.public_id}/replay")
    for day, said in (("2026-03-01", "1 delivery matches"), ("2026-03-02", "0 deliveries match")):
        shown = text_of(owner.send(page, status="all", do="count", **{"from": day, "to": day}))
        assert said in shown
        assert "Days are those of your time zone, Pacific/Honolulu," in shown


def test_replay__after_counting__sends_what_was_counted(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    create(owner, tenant, form_id, receiver.url("/hook"))
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    receiver.wait_for(1)
    webhook = only_webhook(tenant)
    eventually(lambda: Delivery.objects.filter(receiver=webhook, status="delivered").exists())
    page = place(tenant, f"destinations/{webhook.public_id}/replay")
    counted = owner.send(page, status="delivered", do="count", **{"from": "2026-01-01"})
    confirm = counted.text.rpartition("<form")[2]
    assert "Send 1 again" in confirm
    hidden = dict(re.findall(r'type="hidden" name="(from|to|status)" value="([^"]*)"', confirm))
    assert hidden == {"from": "2026-01-01", "to": "", "status": "delivered"}
    answer = owner.send(page, do="replay", **hidden)
    assert "1 delivery is being sent again." in text_of(owner.follow(answer))
    receiver.wait_for(2)
    nothing = owner.send(page, status="failed", do="count")
    assert "0 deliveries match." in text_of(nothing)
    assert "Send 0 again" not in nothing.text


def test_webhooks__pending_ones__say_how_much_waits(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id = tenant.form()
    for number in range(3):
        submit_and_get_id(api, tenant, form_id, {"number": str(number), "_webhook": receiver.url("/named")})
    eventually(lambda: Delivery.objects.filter(organization=tenant.organization, status="held").count() == 3)
    page = owner.get(place(tenant, "destinations")).text
    assert re.findall(r'<td class="number"[^>]*>(\d+)</td>', page)[0] == "3"


def test_webhooks__last_delivery__is_of_each_webhook_itself(
    api: Client, tenant: Tenant, owner: Browser, receiver: Receiver
) -> None:
    form_id, path = tenant.form(), place(tenant, "destinations")
    create(owner, tenant, form_id, receiver.url("/good"))
    submit_and_get_id(api, tenant, form_id, {"name": "Ada"})
    receiver.wait_for(1, path="/good")
    eventually(lambda: "Delivered" in owner.get(path).text)
    create(owner, tenant, tenant.form(name="Quiet"), receiver.url("/quiet"))
    bodies = owner.get(path).text.partition("<tbody>")[2].split("</tr>")
    rows = {name: next(row for row in bodies if name in row) for name in ("/good", "/quiet")}
    assert "Delivered" in rows["/good"]
    assert "none yet" in rows["/quiet"]


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("webhooks", "destinations"),
        ("webhooks/new?form=frm_1", "destinations/new/webhook?form=frm_1"),
        ("webhooks/whk_1", "destinations/whk_1"),
        ("webhooks/whk_1/url", "destinations/whk_1/edit"),
        ("webhooks/whk_1/replay?status=canceled", "destinations/whk_1/replay?status=canceled"),
        ("webhooks//evil.example/x", "destinations//evil.example/x"),
    ],
)
def test_old_address__of_webhooks__redirects_for_ever(tenant: Tenant, owner: Browser, old: str, new: str) -> None:
    answer = owner.get(place(tenant, old))
    assert (answer.status, answer.headers["Location"]) == (308, place(tenant, new))
