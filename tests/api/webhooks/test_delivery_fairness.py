"""One webhook's trouble is not another's: the cap of four, slow receivers, deletion under way."""

import pytest

from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.services.waiting import eventually
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant
from tests.support.webhooks import attempts_are, is_delivered, log_of, register, wait_for_delivery

IN_FLIGHT = 4  # open requests to one webhook (docs/contract.md 7.11)


def test_webhook__twenty_submissions_at_once__at_most_four_requests_are_in_flight(
    api: Client, receiver: Receiver
) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(delay=0.5)
    webhook = register(api, tenant, receiver.url())
    for number in range(20):
        submit_and_get_id(api, tenant, webhook["formId"], {"number": number})
    arrivals = sorted(message.arrived for message in receiver.wait_for(20))
    # Each request is open for the receiver's delay at least, so five of them within it would have been open together.
    assert all(later - earlier >= 0.5 for earlier, later in zip(arrivals, arrivals[IN_FLIGHT:], strict=False))
    together = zip(arrivals, arrivals[IN_FLIGHT - 1 :], strict=False)
    assert any(later - earlier < 0.5 for earlier, later in together), "four open requests were possible"


def test_webhook__receiver_keeps_silent__does_not_delay_another(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    healthy = register(api, tenant, receiver.url())
    with Receiver() as silent:
        silent.reply = Reply(delay=30)
        for _ in range(2):
            slow = register(api, tenant, silent.url())
            for number in range(10):
                submit_and_get_id(api, tenant, slow["formId"], {"number": number})
        silent.wait_for(2 * IN_FLIGHT)
        for number in range(10):
            submit_and_get_id(api, tenant, healthy["formId"], {"number": number})
        receiver.wait_for(10, timeout=10)  # the silent one's attempts last 15 s
        assert len(silent.requests) == 2 * IN_FLIGHT


@pytest.mark.parametrize("what", ["webhook", "submission"])
def test_delete__while_a_message_is_on_its_way__breaks_nothing(
    api: Client, receiver: Receiver, service: Application, what: str
) -> None:
    tenant = make_tenant()
    receiver.reply = Reply(delay=1)
    doomed, other = register(api, tenant, receiver.url("/doomed")), register(api, tenant, receiver.url("/other"))
    submission_id = submit_and_get_id(api, tenant, doomed["formId"])
    submit_and_get_id(api, tenant, other["formId"])
    receiver.wait_for(2)
    path = f"/api/webhooks/{doomed['id']}" if what == "webhook" else f"/api/submissions/{submission_id}"
    assert api.delete(path, tenant.key).status == 200
    seen = wait_for_delivery(api, tenant, other["id"], is_delivered)
    assert len(seen["attempts"]) == 1
    receiver.reply = Reply()
    submit_and_get_id(api, tenant, other["formId"])
    receiver.wait_for(3)
    eventually(lambda: all(map(is_delivered, log_of(api, tenant, other["id"]))), every=0.1)
    assert "Traceback" not in "".join(service.logs().values())


def test_webhook__one_of_two_fails__the_other_is_told_once(api: Client, receiver: Receiver) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    receiver.reply = Reply(500)
    with Receiver() as healthy:
        failing, well = register(api, tenant, receiver.url(), form_id), register(api, tenant, healthy.url(), form_id)
        submit_and_get_id(api, tenant, form_id)
        wait_for_delivery(api, tenant, well["id"], is_delivered)
        wait_for_delivery(api, tenant, failing["id"], attempts_are(2))
        assert len(healthy.requests) == 1
