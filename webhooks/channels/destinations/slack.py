"""
Slack, by the address of an incoming webhook.

https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
https://docs.slack.dev/reference/block-kit/blocks
"""

import json
import re
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop

from webhooks.channels.destinations.base import Config, Kind, Preview, Request, post_json, secret_address
from webhooks.channels.destinations.submitted import Submitted, cut_escaped
from webhooks.channels.destinations.urls import pinned_address, without_secret

HOSTS = ("hooks.slack.com", "hooks.slack-gov.com")
PATH = re.compile(r"/services/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]+")
EXAMPLE = "https://hooks.slack.com/services/T…/B…/…"
MOST_ROWS = 40  # a message has at most 50 blocks
MOST_TITLE = 150  # characters of a header
MOST_LABEL, MOST_VALUE = 200, 2_700  # of a section, which has 3,000
MOST_IN_ALL = 10_000  # of all sections: beyond some 12,000 Slack answers msg_blocks_too_long


class Slack(Kind):
    """Messages of blocks. Values are plain text, in which Slack reads no markup."""

    name = "slack"
    label = "Slack"
    config_class = pinned_address(HOSTS, PATH, EXAMPLE)
    secrets = ("url",)
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

    def render(self, submitted: Submitted, config: Config) -> Request:
        """Return the message, with a text for notifications."""
        title = short(submitted.title, MOST_TITLE)
        blocks = [{"type": "header", "text": plain(title)}, *sections_of(submitted)]
        if submitted.url:
            link = f"<{submitted.url}|{escaped(gettext('Open the submission'))}>"
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": link}})
        message = {
            "text": title,
            "blocks": blocks,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        return post_json(config["url"], message, shown_url=without_secret(config["url"]))

    def previewed(self, request: Request) -> Preview:
        """Return the texts of the blocks, as Slack shows them."""
        head, *sections = (block["text"] for block in json.loads(request.body)["blocks"])
        rows = [unescaped(each["text"]).partition("\n") for each in sections if each["type"] == "plain_text"]
        link = next((each["text"][1:-1].partition("|")[2] for each in sections if each["type"] == "mrkdwn"), "")
        shown = tuple((label, value) for label, _, value in rows)
        return Preview(title=unescaped(head["text"]), rows=shown, link=unescaped(link))


def sections_of(submitted: Submitted) -> list[dict[str, Any]]:
    """Return a section for each value, within the bounds of one and of all together."""
    sections: list[dict[str, Any]] = []
    left = MOST_IN_ALL
    for label, value in submitted.rows()[:MOST_ROWS]:
        name = short(label, MOST_LABEL)
        text = f"{name}\n{short(value, min(MOST_VALUE, left - len(name)))}"
        sections.append({"type": "section", "text": plain(text)})
        left -= len(text) + 20  # what is around it counts too
        if left < MOST_LABEL + 100:
            break
    return sections


def plain(text: str) -> dict[str, Any]:
    """Return a text object of an escaped text, without markup and without emoji codes."""
    return {"type": "plain_text", "text": text, "emoji": False}


def short(text: str, most: int) -> str:
    """Return the escaped text in at most so many characters."""
    return cut_escaped(text, most, escaped)


def escaped(text: str) -> str:
    """Return a text without Slack's control characters: `<!channel>` and `<@U1>` ping nobody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    """Return the text that Slack shows for an escaped one."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
