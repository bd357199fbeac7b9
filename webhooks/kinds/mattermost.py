"""
Mattermost, on anybody's own server, by the address of an incoming webhook.

https://developers.mattermost.com/integrate/webhooks/incoming/
https://developers.mattermost.com/integrate/reference/message-attachments/
https://docs.mattermost.com/collaborate/format-messages.html
"""

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField
from webhooks.kinds.addresses import read_url
from webhooks.kinds.kind import Chat, answer_of, secret_address
from webhooks.kinds.submitted import Submitted, cut
from webhooks.models import MAX_URL
from webhooks.transport.outcome import Outcome

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


class Mattermost(Chat):
    """An attachment whose values are code: Mattermost reads no markup, mention, keyword or emoji in it."""

    name = "mattermost"
    label = "Mattermost"
    config_class = MattermostConfig
    has_any_host = True
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

    def parts(self, submitted: Submitted) -> tuple[str, list[tuple[str, str]]]:
        rows, left = [], MOST_IN_ALL
        for label, value in submitted.rows():
            name = without_links(cut(label, MOST_LABEL)).replace("`", "'")
            row = name, without_links(cut(value, min(MOST_VALUE, left)))
            text = code_of(*row)
            left -= len(text) + text.count("\n") + text.count('"') + text.count("\\")
            if left < 0:
                break
            rows.append(row)
        return plain(cut(submitted.title, MOST_TITLE)), rows

    def message(self, submitted: Submitted, title: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
        attachment = {"fallback": title, "title": title, "text": "\n\n".join(code_of(*row) for row in rows)}
        if submitted.url:
            attachment["title_link"] = submitted.url
        return {"attachments": [attachment]}

    def judge(self, outcome: Outcome) -> Outcome:
        """Find a webhook that was deleted, which has the status of a message that is wrong."""
        judged = super().judge(outcome)
        is_gone = outcome.status == 400 and answer_of(outcome).get("id") == NOT_A_HOOK
        return replace(judged, refused=self.reason) if is_gone else judged


def code_of(label: str, value: str) -> str:
    """Return a row as code: its value is between more backticks than any row of them in it."""
    fence = "```"
    while fence in value:
        fence += "`"
    return f"`{label}`\n\n{fence}\n{value}\n{fence}"


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
