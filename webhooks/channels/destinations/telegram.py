"""
Telegram, by the token of a bot and the id of a chat.

https://core.telegram.org/bots/api#sendmessage
https://core.telegram.org/bots/api#making-requests
"""

import json
import re
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext, gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField
from webhooks.channels.destinations.base import SECRET, Config, Input, Kind, Preview, Request, post_json
from webhooks.channels.destinations.submitted import Submitted, cut
from webhooks.channels.outcome import Outcome

ADDRESS = "https://api.telegram.org"
TOKEN = re.compile(r"\d{5,20}:[A-Za-z0-9_-]{30,64}")
CHAT = re.compile(r"-?\d{1,20}|@[A-Za-z0-9_]{4,32}")
MENTION = re.compile(r"(?<![A-Za-z0-9._%+-])@(?=\w)")
MOST_CODE_UNITS = 4_000  # of UTF-16; a message has 4,096
MOST_TITLE, MOST_LABEL, MOST_VALUE = 200, 200, 1_500


class ChatField(serializers.Field[str, Any, str, Any]):
    """The id of a chat: a number or its digits, or `@name` of a public channel."""

    default_error_messages = {"invalid": gettext_lazy("Write the number of the chat, or @name of a public channel.")}

    def to_internal_value(self, data: Any) -> str:
        text = str(data) if type(data) is int else data
        if not isinstance(text, str) or not CHAT.fullmatch(text):
            self.fail("invalid")
        return text


class TelegramConfig(StrictSerializer):
    token = TextField(max_length=100)
    chatId = ChatField()

    def validate_token(self, token: str) -> str:
        if not TOKEN.fullmatch(token):
            text = gettext("Paste the token that BotFather gave you: digits, a colon, and letters.")
            raise serializers.ValidationError(text, code="invalid_token")
        return token


class Telegram(Kind):
    """Messages without a parse mode, so their text is no markup. A zero-width character stops mentions."""

    name = "telegram"
    label = "Telegram"
    config_class = TelegramConfig
    secrets = ("token",)
    pace = 1.0
    refused = frozenset({401, 403, 404})  # 403: the bot was removed or blocked; 404: no such token
    reason = gettext_noop("Telegram refused the token or the chat. Check that the bot exists and is in the chat.")
    summary = gettext_lazy("A message from your bot, in a group, a channel or to you.")
    steps = (
        gettext_lazy("In Telegram, write /newbot to @BotFather and answer its questions. Copy the token."),
        gettext_lazy(
            "Add the bot to the group, or to the channel as an administrator. For messages to you, press Start in a "
            "chat with it."
        ),
        gettext_lazy(
            "The chat of a public channel is its @name. For any other, write /start there, open "
            "https://api.telegram.org/bot<token>/getUpdates with your token in the address, and copy the number after "
            "“chat” and “id”. Those of groups begin with a minus sign."
        ),
    )
    inputs = (
        Input("token", gettext_lazy("Token of the bot"), "", SECRET, "123456789:AA…"),
        Input(
            *("chatId", gettext_lazy("Chat"), gettext_lazy("A number, or @name of a public channel.")),
            placeholder="-1001234567890",
        ),
    )
    example = {"token": "0:0", "chatId": "0"}

    def render(self, submitted: Submitted, config: Config) -> Request:
        """Return the message."""
        message = {
            "chat_id": config["chatId"],
            "text": text_of(submitted),
            "link_preview_options": {"is_disabled": True},
        }
        url = f"{ADDRESS}/bot{config['token']}/sendMessage"
        return post_json(url, message, shown_url=f"{ADDRESS}/bot…/sendMessage")

    def previewed(self, request: Request) -> Preview:
        """Return the text, its first line as the title."""
        title, _, rest = json.loads(request.body)["text"].partition("\n")
        return Preview(title=title, text=rest.strip())

    def judge(self, outcome: Outcome) -> Outcome:
        """Read the body: a chat that is not found has status 400, and the wait is in `parameters.retry_after`."""
        judged = super().judge(outcome)
        try:
            answer = json.loads(outcome.response_excerpt)
            parameters = answer.get("parameters") or {}
            if outcome.status == 400 and "chat not found" in str(answer.get("description", "")):
                return replace(judged, refused=self.reason)
            if outcome.status == 429:
                return replace(judged, retry_after_seconds=max(0.0, min(float(parameters["retry_after"]), 86_400.0)))
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
        return judged


def text_of(submitted: Submitted) -> str:
    """Return the text, with the link at its end whatever the length of the values."""
    link = f"\n\n{submitted.url}" if submitted.url else ""
    rows = (f"{cut(label, MOST_LABEL)}: {cut(value, MOST_VALUE)}" for label, value in submitted.rows())
    text = "\n".join([cut(submitted.title, MOST_TITLE), "", *rows])
    return cut_units(MENTION.sub("@\u2060", text), MOST_CODE_UNITS - len(link)) + link


def cut_units(text: str, most: int) -> str:
    """Return a text of at most so many UTF-16 code units, which is how Telegram counts."""
    units = text.encode("utf-16-le", "replace")
    return text if len(units) <= 2 * most else units[: 2 * (most - 1)].decode("utf-16-le", "ignore") + "…"
