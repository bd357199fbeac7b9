"""
Microsoft Teams, by the address of a workflow ("Post to a channel when a webhook request is received").

The connectors of Office 365 are retired. Adaptive cards:
https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook
https://adaptivecards.io/explorer/RichTextBlock.html
"""

import json
import re
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from submissions.json_text import dump_json
from webhooks.channels.destinations.base import Config, Kind, Preview, Request, post_json, secret_address
from webhooks.channels.destinations.submitted import Submitted, cut
from webhooks.channels.destinations.urls import pinned_address, without_secret

HOSTS = (".logic.azure.com", ".api.powerplatform.com", ".logic.azure.us")
PATH = re.compile(r"/(?:workflows|powerautomate)/(?=[!-~]*[?&]sig=[!-~])[!-~]+")
EXAMPLE = "https://….api.powerplatform.com/powerautomate/…&sig=…"
MOST_BYTES = 24_000  # of values in JSON; a message has at most 28 KB
MOST_TITLE, MOST_LABEL, MOST_VALUE, MOST_ROWS = 200, 200, 2_000, 50


class Teams(Kind):
    """An adaptive card. Its texts are text runs, in which Teams reads no Markdown; mentions need an entity."""

    name = "teams"
    label = "Microsoft Teams"
    config_class = pinned_address(HOSTS, PATH, EXAMPLE)
    secrets = ("url",)
    pace = 1.0
    refused = frozenset({401, 403, 404, 410})
    reason = gettext_noop(
        "Teams does not accept the address any more. Check the workflow, or paste the address of a new one."
    )
    summary = gettext_lazy("A card in a channel for each submission, posted by a workflow.")
    steps = (
        gettext_lazy("In Teams, open the menu (…) of the channel and choose Workflows."),
        gettext_lazy(
            "Choose “Send webhook alerts to a channel”, in older versions “Post to a channel when a webhook request is "
            "received”."
        ),
        gettext_lazy("Check the account, the team and the channel, and save the workflow."),
        gettext_lazy("Copy the URL of the workflow, and paste it here. Addresses of old connectors do not work."),
    )
    inputs = (secret_address(EXAMPLE, gettext_lazy("The URL of the workflow, whole, with its signature (sig=…).")),)
    example = {"url": "https://example.logic.azure.com/workflows/0?sig=0"}

    def render(self, submitted: Submitted, config: Config) -> Request:
        card: dict[str, Any] = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [text_block(cut(submitted.title, MOST_TITLE), size="Large", weight="Bolder"), *rows_of(submitted)],
        }
        if submitted.url:
            card["actions"] = [
                {"type": "Action.OpenUrl", "title": gettext("Open the submission"), "url": submitted.url}
            ]
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        message = {"type": "message", "attachments": [attachment]}
        return post_json(config["url"], message, shown_url=without_secret(config["url"]))

    def previewed(self, request: Request) -> Preview:
        """Return the texts of the card."""
        card = json.loads(request.body)["attachments"][0]["content"]
        title, *texts = (block["inlines"][0]["text"] for block in card["body"])
        link = card["actions"][0]["title"] if "actions" in card else ""
        return Preview(title=title, rows=tuple(zip(texts[::2], texts[1::2], strict=True)), link=link)


def rows_of(submitted: Submitted) -> list[dict[str, Any]]:
    """Return a label and a value for each, until the message is full."""
    blocks: list[dict[str, Any]] = []
    left = MOST_BYTES
    for label, value in submitted.rows()[:MOST_ROWS]:
        name, text = cut(label, MOST_LABEL), cut(value, MOST_VALUE)
        left -= len(dump_json([name, text]).encode()) + 200  # escapes count, and what is around the texts
        if left < 0:
            break
        blocks += [text_block(name, weight="Bolder"), text_block(text)]
    return blocks


def text_block(text: str, **style: str) -> dict[str, Any]:
    """Return a block of one text run."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
