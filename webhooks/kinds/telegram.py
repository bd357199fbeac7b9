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
from webhooks.kinds.kind import SECRET, Config, Input, Kind, Preview, Request, answer_of, post_json, with_wait
from webhooks.kinds.submitted import Submitted, cut, cut_encoded
from webhooks.transport.outcome import Outcome

ADDRESS = "https://api.telegram.org"
TOKEN = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{30,64}")
CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{4,32}")
MENTION = re.compile(r"(?<!\w)@")  # not in a mail address: after a letter or digit Telegram takes it for none
# Descriptions of a 400, in lower case. Only another chat, or another right of the bot there, helps.
NO_CHAT = ("chat not found", "upgraded to a supergroup", "not enough rights", "have no rights", "chat_write_forbidden")
MOST_BYTES = 8_000  # in UTF-16, as Telegram counts; a message has 8,192
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
        message = {
            "chat_id": config["chatId"],
            "text": text_of(submitted),
            "link_preview_options": {"is_disabled": True},
        }
        url = f"{ADDRESS}/bot{config['token']}/sendMessage"
        return post_json(url, message, shown_url=f"{ADDRESS}/bot…/sendMessage")

    def previewed(self, request: Request, submitted: Submitted) -> Preview:  # noqa: ARG002  # the interface of kinds
        title, _, rest = json.loads(request.body)["text"].partition("\n")
        return Preview(title=title, text=rest.strip())

    def judge(self, outcome: Outcome) -> Outcome:
        """Read the body: a chat that cannot be used has status 400, and the wait is in `parameters.retry_after`."""
        judged, answer = super().judge(outcome), answer_of(outcome)
        if outcome.status == 400:
            description = str(answer.get("description", "")).lower()
            return replace(judged, refused=self.reason if any(text in description for text in NO_CHAT) else "")
        parameters = answer.get("parameters")
        return with_wait(judged, parameters.get("retry_after") if isinstance(parameters, dict) else None)


def text_of(submitted: Submitted) -> str:
    """Return the text, with the link at its end whatever the length of the values."""
    link = f"\n\n{submitted.url}" if submitted.url else ""
    text = "\n".join([cut(submitted.title, MOST_TITLE), "", *submitted.lines(MOST_LABEL, MOST_VALUE)])
    return cut_encoded(MENTION.sub("@\u2060", text), MOST_BYTES - 2 * len(link), "utf-16-le") + link
