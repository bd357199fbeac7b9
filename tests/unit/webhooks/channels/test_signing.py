"""Standard Webhooks: the published vector, and what an independent verifier makes of our headers."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from webhooks.signing import headers_for, new_secret

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
SENT_AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_headers_for__published_vector__gives_its_signature() -> None:
    assert headers_for(MESSAGE_ID, BODY, [SECRET], SENT_AT) == {
        "Content-Type": "application/json",
        "User-Agent": "Fieldpost-Webhooks/1.0",
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


@pytest.mark.parametrize("hours", [-11, -3.5, 5.5, 14])
def test_headers_for__same_moment_in_another_zone__same_headers(hours: float) -> None:
    sent_at = SENT_AT.astimezone(timezone(timedelta(hours=hours)))
    assert headers_for(MESSAGE_ID, BODY, [SECRET], sent_at)["webhook-signature"] == SIGNATURE


def test_headers_for__fraction_of_a_second__signed_as_the_whole_second_it_names() -> None:
    headers = headers_for(MESSAGE_ID, BODY, [SECRET], SENT_AT + timedelta(microseconds=999_999))
    assert (headers["webhook-timestamp"], headers["webhook-signature"]) == ("1614265330", SIGNATURE)


def test_headers_for__two_secrets__each_verifies_and_a_third_does_not() -> None:
    old, new, other = new_secret(), new_secret(), new_secret()
    body = '{"data":{"name":"Zoë \U0001f680"}}'.encode()
    headers = headers_for("msg_1", body, [new, old], datetime.now(UTC))
    assert headers["webhook-signature"].count("v1,") == 2
    Webhook(old).verify(body, headers)
    Webhook(new).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(body, headers)


def test_headers_for__verified_by_hand__is_an_hmac_over_id_time_and_body() -> None:
    secret = new_secret()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, b"msg_1.1614265330." + BODY, hashlib.sha256).digest()
    assert headers_for("msg_1", BODY, [secret], SENT_AT)["webhook-signature"] == f"v1,{base64.b64encode(mac).decode()}"


def test_new_secret__made_twice__differs_and_holds_32_bytes() -> None:
    first, second = new_secret(), new_secret()
    assert first != second
    assert first.startswith("whsec_")
    assert len(base64.b64decode(first.removeprefix("whsec_"), validate=True)) == 32
