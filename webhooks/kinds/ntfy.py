"""
ntfy, by the address of a topic, on ntfy.sh or anybody's own server.

https://docs.ntfy.sh/publish/#publish-as-json
"""

import json
import re

from django.utils.translation import gettext, gettext_lazy, gettext_noop
from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField
from webhooks.kinds.addresses import read_url
from webhooks.kinds.kind import SECRET, Config, Input, Kind, Preview, Request, post_json
from webhooks.kinds.submitted import Submitted, cut, cut_encoded
from webhooks.models import MAX_URL

TOPIC = re.compile(r"(?:/[^/?]+)*/[-_A-Za-z0-9]{1,64}")
TOKEN = re.compile(r"[!-~]{1,200}")
MOST_BYTES = 3_800  # of a message; a longer one than 4,096 becomes an attachment
MOST_TITLE, MOST_LABEL, MOST_VALUE = 200, 200, 1_500


class NtfyConfig(StrictSerializer):
    url = TextField(trim_whitespace=False, max_length=MAX_URL)
    token = TextField(required=False, max_length=200)

    def validate_url(self, url: str) -> str:
        if not TOPIC.fullmatch(read_url(url).target):
            text = gettext("Paste the address of a topic, such as https://ntfy.sh/my-topic.")
            raise serializers.ValidationError(text, code="invalid_url")
        return url

    def validate_token(self, token: str) -> str:
        if not TOKEN.fullmatch(token):
            raise serializers.ValidationError(gettext("Paste the access token, such as tk_…"), code="invalid_token")
        return token


class Ntfy(Kind):
    """Notifications as JSON to the root of the server: headers could not carry every character."""

    name = "ntfy"
    label = "ntfy"
    config_class = NtfyConfig
    secrets = ("token",)
    pace = 0.2
    has_any_host = True
    reason = gettext_noop("The ntfy server refused the topic or the token. Check both.")
    summary = gettext_lazy("A notification on phones and desktops, by ntfy.sh or your own server.")
    steps = (
        gettext_lazy(
            "Think of a topic that nobody can guess, such as contact-8fK2qLw0: on ntfy.sh everyone who knows it can "
            "read it."
        ),
        gettext_lazy("Subscribe to it in the app of ntfy on each phone, or on https://ntfy.sh/app."),
        gettext_lazy("Enter its address here: the server, a slash, the topic."),
        gettext_lazy("If the topic is protected, make an access token in the account of ntfy, under Access tokens."),
    )
    inputs = (
        Input("url", gettext_lazy("Address of the topic"), placeholder="https://ntfy.sh/contact-8fK2qLw0"),
        Input("token", gettext_lazy("Access token"), gettext_lazy("Only for protected topics."), SECRET, "tk_…"),
    )
    example = {"url": "https://ntfy.sh/topic"}

    def render(self, submitted: Submitted, config: Config) -> Request:
        """Return the notification: plain text, without Markdown and actions."""
        server, _, topic = config["url"].rpartition("/")
        body = cut_encoded("\n".join(submitted.lines(MOST_LABEL, MOST_VALUE)) or submitted.id, MOST_BYTES, "utf-8")
        message = {"topic": topic, "title": cut(submitted.title, MOST_TITLE), "message": body}
        if submitted.url:
            message["click"] = submitted.url
        secrets = {"Authorization": f"Bearer {config['token']}"} if config.get("token") else {}
        return post_json(f"{server}/", message, shown_url=f"{server}/", secrets=secrets)

    def previewed(self, request: Request, submitted: Submitted) -> Preview:
        message = json.loads(request.body)
        link = gettext("Open the submission") if submitted.url else ""
        return Preview(title=message["title"], text=message["message"], link=link)
