"""`fieldpost listen` with the running service: what is forwarded is what a webhook gets."""

import json
import signal
from pathlib import Path

from standardwebhooks import Webhook

import fieldpost
from keys.access_keys import ALL_PERMISSIONS, issue_key, revoke_key
from keys.models import AccessKey
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import Receiver, Reply
from tests.support.fieldpost_command import command_of, next_line
from tests.support.rows import wait_until_dispatched
from tests.support.submitting import submit_and_get_id
from tests.support.tenants import make_tenant


def test_listen__submission_to_its_form__is_forwarded_as_a_webhook_has_it(
    service: Application, api: Client, receiver: Receiver, tmp_path: Path
) -> None:
    tenant = make_tenant()
    form_id, command = tenant.form(), command_of(service, tenant.key, tmp_path)
    receiver.replies.extend([Reply(500), Reply(200)])

    with command.started("listen", "--live", "--form", "contact", "--forward-to", receiver.url()) as started:
        ready = next_line(started)
        submit_and_get_id(api, tenant, "", {"text": "to another form"})
        sent = []
        for number in range(2):
            sent.append(submit_and_get_id(api, tenant, form_id, {"text": f"Grüße {number}"}))
            wait_until_dispatched(tenant)  # which gives the places: of two at the same time the later may come first
        shown = [next_line(started), next_line(started)]
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == 0

    secret = ready.pop("secret")
    assert ready == {"type": "ready", "mode": "live", "forwardTo": receiver.url()}
    messages = receiver.wait_for(2)
    assert shown == [
        {
            "type": "submission.created",
            "id": message.headers["webhook-id"],
            "submissionId": submission,
            "status": status,
            "error": None,
        }
        for message, submission, status in zip(messages, sent, (500, 200), strict=True)
    ]
    for message in messages:
        headers = dict(message.headers)
        assert Webhook(secret).verify(message.body, headers) == fieldpost.verify_webhook(message.body, headers, secret)
    assert json.loads(command.run("listen", "--live", "--print-secret").out)["secret"] == secret


def test_listen__with_a_test_key__shows_what_trigger_sends(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()
    _, key = issue_key(
        organization=tenant.organization, name="Laptop", by=None, permissions=ALL_PERMISSIONS, mode=AccessKey.Mode.TEST
    )
    command = command_of(service, key, tmp_path)

    with command.started("listen") as started:
        assert next_line(started)["mode"] == "test"
        sent = command.run("trigger", "submission.created", "--override", "name=Grüße").json()
        shown = next_line(started)

    assert shown["submissionId"] == sent["id"]
    assert shown["body"]["data"]["data"]["name"] == "Grüße"
    assert command.run("whoami").json()["key"]["mode"] == "test"
    assert command.run("forms", "apply", "--yes").error()[0] == 1


def test_listen__live_key_without_live__is_refused(service: Application, tmp_path: Path) -> None:
    assert command_of(service, make_tenant().key, tmp_path).run("listen").error() == (1, "live_key")


def test_listen__key_revoked__ends_with_an_error(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()
    permissions = ("submissions:read", "webhooks:write")
    row, key = issue_key(organization=tenant.organization, name="Laptop", by=None, permissions=permissions)

    with command_of(service, key, tmp_path).started("listen", "--live") as started:
        next_line(started)
        revoke_key(row, by=None)
        out, err = started.communicate(timeout=60)

    assert (started.returncode, out) == (1, b"")
    assert json.loads(err.splitlines()[-1])["error"]["code"] == "invalid_access_key"


def test_listen__key_that_may_not__is_refused(service: Application, tmp_path: Path) -> None:
    tenant = make_tenant()

    refused = command_of(service, tenant.issue("submissions:read"), tmp_path).run("listen", "--live")

    assert refused.error() == (1, "unauthorized")
