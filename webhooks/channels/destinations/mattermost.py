"""
Mattermost, on anybody's own server, by the address of an incoming webhook.

https://developers.mattermost.com/integrate/webhooks/incoming/
https://developers.mattermost.com/integrate/reference/message-attachments/
https://docs.mattermost.com/collaborate/format-messages.html
"""

import json
from collections.abc import Iterator
from dataclasses import replace

from django.utils.translation import gettext, gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField
from webhooks.channels.destinations.base import (
    Config,
    Kind,
    Preview,
    Request,
    answer_of,
    post_json,
    secret_address,
)
from webhooks.channels.destinations.submitted import Submitted, cut
from webhooks.channels.destinations.urls import check_address, read_url, without_secret
from webhooks.channels.outcome import Outcome
from webhooks.models import MAX_URL

FOLDER = "/hooks/"
MOST_KEY = 100  # characters; its keys have 26
MOST_TITLE, MOST_LABEL, MOST_VALUE = 200, 200, 1_500
MOST_IN_ALL = 5_500  # of all rows: attachments of old servers have 8,000 characters, and quotes are escaped there
EXAMPLE = "https://chat.example.com/hooks/…"
NOT_A_HOOK = "web.incoming_webhook.invalid.app_error"  # the id in a 400: the webhook was deleted


class MattermostConfig(StrictSerializer):
    url = TextField(trim_whitespace=False, max_length=MAX_URL)

    def validate_url(self, url: str) -> str:
        before, folder, key = read_url(url).target.rpartition(FOLDER)
        if not folder or "?" in before or not (key.isascii() and key.isalnum() and len(key) <= MOST_KEY):
            text = gettext("Paste the address of an incoming webhook, such as %(example)s.")
            raise serializers.ValidationError(text % {"example": EXAMPLE}, code="invalid_url")
        return url


class Mattermost(Kind):
    """An attachment whose values are code: Mattermost reads no markup, mention, keyword or emoji in it."""

    name = "mattermost"
    label = "Mattermost"
    config_class = MattermostConfig
    secrets = ("url",)
    pace = 0.2
    refused = frozenset({401, 403, 404, 501})  # 404: no such channel; 501: incoming webhooks are switched off
    reason = gettext_noop(
        "Mattermost does not accept the address any more. Check that incoming webhooks are enabled, or make a new one."
    )
    summary = gettext_lazy("A message in a channel of your Mattermost server for each submission.")
    steps = (
        gettext_lazy("Open the menu of products in Mattermost, and choose Integrations, Incoming Webhooks."),
        gettext_lazy("Press Add Incoming Webhook, choose the channel, and save."),
        gettext_lazy("Copy the URL that Mattermost shows, and paste it here."),
    )
    inputs = (secret_address(EXAMPLE, gettext_lazy("The URL of the incoming webhook. Everyone who has it can post.")),)
    example = {"url": "https://chat.example.com/hooks/0"}

    def check_addresses(self, config: Config) -> None:
        """Check the server. Raises ValidationFailed."""
        check_address(config["url"])

    def render(self, submitted: Submitted, config: Config) -> Request:
        title = plain(cut(submitted.title, MOST_TITLE))
        attachment = {"fallback": title, "title": title, "text": text_of(submitted)}
        if submitted.url:
            attachment["title_link"] = submitted.url
        return post_json(config["url"], {"attachments": [attachment]}, shown_url=without_secret(config["url"]))

    def previewed(self, request: Request) -> Preview:
        """Return the texts of the attachment, as Mattermost shows them."""
        (attachment,) = json.loads(request.body)["attachments"]
        link = gettext("Open the submission") if "title_link" in attachment else ""
        return Preview(title=attachment["title"], rows=tuple(rows_in(attachment["text"])), link=link)

    def judge(self, outcome: Outcome) -> Outcome:
        """Find a webhook that was deleted, which has the status of a message that is wrong."""
        judged = super().judge(outcome)
        is_gone = outcome.status == 400 and answer_of(outcome).get("id") == NOT_A_HOOK
        return replace(judged, refused=self.reason) if is_gone else judged


def text_of(submitted: Submitted) -> str:
    """Return a label and a value for each, until the message is full. A block of code is never cut open."""
    rows: list[str] = []
    left = MOST_IN_ALL
    for label, value in submitted.rows():
        name = without_links(cut(label, MOST_LABEL)).replace("`", "'")
        row = f"`{name}`\n\n{block(without_links(cut(value, min(MOST_VALUE, left))))}"
        left -= len(row) + row.count("\n") + row.count('"') + row.count("\\")
        if left < 0:
            break
        rows.append(row)
    return "\n\n".join(rows)


def rows_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield label and value of each row of a text that `text_of` made."""
    lines = iter(text.split("\n"))
    for label in filter(None, lines):
        next(lines)
        fence = next(lines)
        yield label[1:-1], "\n".join(iter(lines.__next__, fence))


def block(text: str) -> str:
    """Return a block of code, between more backticks than any row of them in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def plain(text: str) -> str:
    """Return a line that mentions nobody."""
    return without_links(text).replace("@", "@\u2060")


def without_links(text: str) -> str:
    """
    Return a text with another sign for `<`.

    Mattermost takes `<!channel>` and `<address|text>` from Slack, also in code and across lines: the text of such a
    link is moved, and could be moved out of its block.
    """
    return text.replace("<", "\uff1c")
