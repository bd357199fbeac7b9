"""
Microsoft Teams, by the address of a workflow ("Post to a channel when a webhook request is received").

The connectors of Office 365 are retired. Adaptive cards:
https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook
https://adaptivecards.io/explorer/RichTextBlock.html
"""

import re
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from submissions.json_text import dump_json
from webhooks.kinds.addresses import pinned_address
from webhooks.kinds.kind import Chat, secret_address
from webhooks.kinds.submitted import Submitted, cut

HOSTS = (".logic.azure.com", ".api.powerplatform.com", ".logic.azure.us")
PATH = re.compile(r"/(?:workflows|powerautomate)/(?=[!-~]*[?&]sig=[!-~])[!-~]+")
EXAMPLE = "https://….api.powerplatform.com/powerautomate/…&sig=…"
MOST_BYTES = 24_000  # of values in JSON; a message has at most 28 KB
MOST_TITLE, MOST_LABEL, MOST_VALUE, MOST_ROWS = 200, 200, 2_000, 50


class Teams(Chat):
    """An adaptive card. Its texts are text runs, in which Teams reads no Markdown; mentions need an entity."""

    name = "teams"
    label = "Microsoft Teams"
    config_class = pinned_address(HOSTS, PATH, EXAMPLE)
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

    def parts(self, submitted: Submitted) -> tuple[str, list[tuple[str, str]]]:
        rows, left = [], MOST_BYTES
        for label, value in submitted.rows()[:MOST_ROWS]:
            row = cut(label, MOST_LABEL), cut(value, MOST_VALUE)
            left -= len(dump_json([*row]).encode()) + 200  # escapes count, and what is around the texts
            if left < 0:
                break
            rows.append(row)
        return cut(submitted.title, MOST_TITLE), rows

    def message(self, submitted: Submitted, title: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
        card: dict[str, Any] = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": [text_block(title, size="Large", weight="Bolder")],
        }
        for label, value in rows:
            card["body"] += [text_block(label, weight="Bolder"), text_block(value)]
        if submitted.url:
            card["actions"] = [
                {"type": "Action.OpenUrl", "title": gettext("Open the submission"), "url": submitted.url}
            ]
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
        return {"type": "message", "attachments": [attachment]}


def text_block(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
