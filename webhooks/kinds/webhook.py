"""The webhook as a kind of receiver: what its screens say, its one setting, and its preview."""

import json
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy

from config.api.serializers import StrictSerializer, TextField
from submissions.files.records import load_files
from submissions.models import Submission
from webhooks.kinds.kind import Config, Input, Kind, Preview, Request, indented, post_json
from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import Submitted
from webhooks.models import MAX_URL, WEBHOOK
from webhooks.payloads import submission_message


class WebhookConfig(StrictSerializer):
    url = TextField(trim_whitespace=False, max_length=MAX_URL)


class Webhook(Kind):
    """Signed messages to a customer's own program. `registration.py` checks and stores it, `webhook.py` sends."""

    name = WEBHOOK
    label = gettext_lazy("Webhook")
    config_class = WebhookConfig
    summary = gettext_lazy("A signed message to your own program.")
    steps = (
        gettext_lazy("Make an address on your server that accepts POST requests with JSON, and enter it here."),
        gettext_lazy("The next page shows the signing secret, once, with code that verifies each message."),
    )
    inputs = (
        Input(
            *("url", "URL"),
            (
                gettext_lazy("An http or https address of your server that accepts POST requests with JSON.")
                if settings.WEBHOOK_ALLOW_HTTP
                else gettext_lazy("An https address of your server that accepts POST requests with JSON.")
            ),
            placeholder="https://example.com/hooks/fieldpost",
        ),
    )
    example = {"url": "https://example.com/"}

    def render(self, submitted: Submitted, config: Config) -> Request:
        """Not used: the channel signs the message that all webhooks get."""
        raise NotImplementedError

    def preview(self, submission: Submission, config: Config) -> tuple[Request, Preview]:
        """Return the request without its signature, and its JSON."""
        if not submission._state.adding:  # an example has its files
            load_files([submission])
        body: Any = json.loads(submission_message(submission, submission.form.name))
        return post_json(config["url"], body, shown_url=config["url"]), Preview(code=indented(body))


EVERY_KIND: dict[str, Kind] = {WEBHOOK: Webhook(), **KINDS}
