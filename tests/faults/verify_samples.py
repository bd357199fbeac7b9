"""
The samples in `docs/verify/` for Go, PHP and Ruby: the test vector, forged messages, and messages that the service sent
before and after a rotation. Python and Node are in `tests/api/webhooks/test_verify_samples.py`.

    python -m tests.faults.verify_samples    exit status 1 if a sample judges a message wrongly
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.services.application import Application
from tests.services.client import Client
from tests.services.environment import service_environment
from tests.services.packages import ensure
from tests.services.receivers import Receiver
from tests.support.verifying.samples import CASES, OTHER_SECRET, Message, received, wrong_verdicts

LANGUAGES = ("go", "php", "ruby")
WAIT_SECONDS = 30.0


def main() -> int:
    """Print a line for each language. Return 1 if a sample judges a message wrongly, else 0."""
    ensure(LANGUAGES)
    messages = CASES | _messages_of_the_service()
    wrong = {language: wrong_verdicts(language, messages) for language in LANGUAGES}
    for language, names in wrong.items():
        print(f"{language}: {len(messages)} messages, judged wrongly: {', '.join(names) or 'none'}", flush=True)
    return int(any(wrong.values()))


def _messages_of_the_service() -> dict[str, Message]:
    """Return two messages of a running service, one signed by one secret and one by two."""
    with tempfile.TemporaryDirectory(prefix="fieldpost-verify-", ignore_cleanup_errors=True) as name:
        environment = service_environment(data_dir=Path(name))
        with (
            Receiver() as receiver,
            Application(environment, Path(name) / "service") as application,
            Client(application.port) as api,
        ):
            return _send_two(application, api, receiver)


def _send_two(application: Application, api: Client, receiver: Receiver) -> dict[str, Message]:
    application.manage("create_organization", "Acme", "--plan", "pro", "--owner", "ada@example.com")
    key = application.manage("create_key", "--organization", "acme", "--name", "Server").strip()
    form = _data(api.get("/api/forms", key))[0]["id"]
    body = {"formId": form, "url": receiver.url(), "events": ["submission.created"]}
    webhook = _data(api.post("/api/webhooks", key, json=body))
    _data(api.post(f"/api/submit?formId={form}", key, json={"message": "Grüße 🎉"}))
    (first,) = receiver.wait_for(1, WAIT_SECONDS)
    rotated = _data(api.post(f"/api/webhooks/{webhook['id']}/rotate-secret", key))
    _data(api.post(f"/api/submit?formId={form}", key, json={"message": "after the rotation"}))
    second = receiver.wait_for(2, WAIT_SECONDS)[1]
    return {
        "sent by the service": received(first, webhook["secret"]),
        "sent by the service, another secret": received(first, OTHER_SECRET, is_genuine=False),
        "sent before the rotation, the new secret": received(first, rotated["secret"], is_genuine=False),
        "sent after a rotation, the old secret": received(second, webhook["secret"]),
        "sent after a rotation, the new secret": received(second, rotated["secret"]),
    }


def _data(answer: Any) -> Any:
    assert answer.status in (200, 201), answer.text
    return answer.json()["data"]


if __name__ == "__main__":
    sys.exit(main())
