"""
Slack, by the address of an incoming webhook.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
https://docs.slack.dev/reference/block-kit/blocks
"""

import re
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from webhooks.kinds.addresses import pinned_address
from webhooks.kinds.kind import Chat, secret_address
from webhooks.kinds.submitted import Submitted, cut_to_fit

HOSTS = ("hooks.slack.com", "hooks.slack-gov.com")
PATH = re.compile(r"/services/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]+")
EXAMPLE = "https://hooks.slack.com/services/T…/B…/…"
MOST_ROWS = 40  # a message has at most 50 blocks
MOST_TITLE = 150  # characters of a header
MOST_LABEL, MOST_VALUE = 200, 2_700  # of a section, which has 3,000
MOST_AROUND = 21  # of a section besides its label and value
MOST_IN_ALL = 10_000  # of all sections: beyond some 12,000 Slack answers msg_blocks_too_long


class Slack(Chat):
    """Messages of blocks. Values are plain text, in which Slack reads no markup."""

    name = "slack"
    label = "Slack"
    config_class = pinned_address(HOSTS, PATH, EXAMPLE)
    pace = 1.0
    # 404: no_service, channel_not_found, no_team; 410: channel_is_archived. Only a new address helps.
    refused = frozenset({401, 403, 404, 410})
    reason = gettext_noop(
        "Slack does not accept the address any more. Make a new incoming webhook and paste its address."
    )
    summary = gettext_lazy("A message in a channel for each submission.")
    steps = (
        gettext_lazy("Open https://api.slack.com/apps and choose Create New App, From scratch. Choose your workspace."),
        gettext_lazy("Open Incoming Webhooks in the menu of the app, and switch on Activate Incoming Webhooks."),
        gettext_lazy("Press Add New Webhook to Workspace, and choose the channel."),
        gettext_lazy("Copy the Webhook URL of the new line, and paste it here."),
    )
    inputs = (secret_address(EXAMPLE, gettext_lazy("The Webhook URL. Everyone who has it can post to the channel.")),)
    example = {"url": "https://hooks.slack.com/services/T0/B0/0"}

    def parts(self, submitted: Submitted) -> tuple[str, list[tuple[str, str]]]:
        rows = submitted.rows_that_fit(
            escaped, rows=MOST_ROWS, label=MOST_LABEL, value=MOST_VALUE, in_all=MOST_IN_ALL, around=MOST_AROUND
        )
        return cut_to_fit(submitted.title, MOST_TITLE, escaped), rows

    def message(self, submitted: Submitted, title: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
        """Return the blocks, with a text for notifications."""
        blocks = [{"type": "header", "text": plain(title)}]
        blocks += [{"type": "section", "text": plain(f"{label}\n{value}")} for label, value in rows]
        if submitted.url:
            link = f"<{submitted.url}|{escaped(gettext('Open the submission'))}>"
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link}})
        return {"text": escaped(title), "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def plain(text: str) -> dict[str, Any]:
    """Return a text object without markup and without emoji codes."""
    return {"type": "plain_text", "text": escaped(text), "emoji": False}


def escaped(text: str) -> str:
    """Return a text without Slack's control characters: `<!channel>` and `<@U1>` ping nobody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
