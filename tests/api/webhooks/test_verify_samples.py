"""The samples in `docs/verify/` for Python and Node; `make faults` runs those in other languages."""

import pytest

from tests.services.client import Client
from tests.services.receivers import Receiver
from tests.support.verifying.samples import CASES, OTHER_SECRET, received, wrong_verdicts
from tests.support.webhooks import one_message, one_message_after_a_rotation

LANGUAGES = ["python", "node"]


@pytest.mark.on_sqlite
@pytest.mark.parametrize("language", LANGUAGES)
def test_sample__test_vector_and_forged_messages__judges_each_rightly(language: str) -> None:
    assert wrong_verdicts(language, CASES) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sample__message_of_the_service__accepts_it_with_its_secret_only(
    language: str, api: Client, receiver: Receiver
) -> None:
    message, secret = one_message(api, receiver)
    messages = {
        "genuine": received(message, secret),
        "forged": received(message, OTHER_SECRET, is_genuine=False),
    }
    assert wrong_verdicts(language, messages) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_sample__message_after_a_rotation__accepts_it_with_the_old_and_the_new_secret(
    language: str, api: Client, receiver: Receiver
) -> None:
    message, old, new = one_message_after_a_rotation(api, receiver)
    messages = {
        "old": received(message, old),
        "new": received(message, new),
        "forged": received(message, OTHER_SECRET, is_genuine=False),
    }
    assert wrong_verdicts(language, messages) == []
