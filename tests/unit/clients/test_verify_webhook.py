"""`fieldpost.verify_webhook` judges each message as the samples of docs/delivery.md do."""

import base64
import hashlib
import hmac
import json

import pytest
import time_machine

import fieldpost
from tests.support.verifying.samples import CASES, SECRET, Message


def headers(message: Message) -> dict[str, str]:
    return {
        "Webhook-Id": message.id,
        "WEBHOOK-TIMESTAMP": message.timestamp,
        "webhook-signature": message.signatures,
    }


@pytest.mark.parametrize("message", CASES.values(), ids=CASES.keys())
def test_verify_webhook__as_the_specification_says(message: Message) -> None:
    genuine = message.is_genuine and message.body.startswith("{")
    with time_machine.travel(message.now, tick=False):
        if genuine:
            event = fieldpost.verify_webhook(message.body.encode(), headers(message), message.secret)
            assert event == json.loads(message.body)
            return
        with pytest.raises(fieldpost.SignatureError if not message.is_genuine else ValueError):
            fieldpost.verify_webhook(message.body, headers(message), message.secret)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64", "whsec_ä", "fp_secret"])
def test_verify_webhook__secret_that_is_none__is_refused(secret: str) -> None:
    message = CASES["the test vector"]

    with time_machine.travel(message.now, tick=False), pytest.raises(fieldpost.SignatureError):
        fieldpost.verify_webhook(message.body, headers(message), secret)


def test_verify_webhook__signed_with_an_empty_secret__is_refused() -> None:
    signature = base64.b64encode(hmac.new(b"", b"msg_1.1614265330.{}", hashlib.sha256).digest()).decode()
    message = Message(id="msg_1", body="{}", signatures=f"v1,{signature}")

    with time_machine.travel(message.now, tick=False), pytest.raises(fieldpost.SignatureError):
        fieldpost.verify_webhook(message.body, headers(message), "")


def test_verify_webhook__without_headers__is_refused() -> None:
    with pytest.raises(fieldpost.SignatureError):
        fieldpost.verify_webhook(b"{}", {}, SECRET)
