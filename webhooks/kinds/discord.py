"""
Discord, by the address of a channel's webhook.

https://discord.com/developers/docs/resources/webhook#execute-webhook
https://discord.com/developers/docs/topics/rate-limits
"""

import re
from typing import Any

from django.utils.translation import gettext_lazy, gettext_noop

from webhooks.kinds.addresses import pinned_address
from webhooks.kinds.kind import Chat, answer_of, secret_address, with_wait
from webhooks.kinds.submitted import Submitted, cut_to_fit
from webhooks.transport.outcome import Outcome

HOSTS = ("discord.com", "discordapp.com", "canary.discord.com", "ptb.discord.com")
PATH = re.compile(r"/api(?:/v[0-9]{1,2})?/webhooks/[0-9]{15,25}/[A-Za-z0-9_-]{20,100}(?:\?thread_id=[0-9]{15,25})?")
EXAMPLE = "https://discord.com/api/webhooks/…/…"
MARKUP = re.compile(r"([\\*_~`|>#\[\]()<:@-])")
MOST_ROWS = 25  # fields of an embed
MOST_NAME, MOST_VALUE, MOST_TITLE = 256, 1_024, 256  # characters
MOST_IN_ALL = 5_500  # of an embed, which has 6,000


class Discord(Chat):
    """An embed. Its texts are escaped, and `allowed_mentions` names nobody."""

    name = "discord"
    label = "Discord"
    config_class = pinned_address(HOSTS, PATH, EXAMPLE)
    pace = 0.5  # five requests in two seconds
    refused = frozenset({401, 403, 404})  # 404: code 10015, the webhook was deleted
    reason = gettext_noop(
        "Discord does not accept the address any more. Make a new webhook of the channel and paste its address."
    )
    summary = gettext_lazy("A message in a channel of your server for each submission.")
    steps = (
        gettext_lazy("Open your server in Discord, then Server Settings, Integrations, Webhooks."),
        gettext_lazy("Press New Webhook, open the new entry, and choose the channel."),
        gettext_lazy("Press Copy Webhook URL, and paste it here. Save changes in Discord."),
    )
    inputs = (secret_address(EXAMPLE, gettext_lazy("The Webhook URL. Everyone who has it can post to the channel.")),)
    example = {"url": "https://discord.com/api/webhooks/000000000000000000/00000000000000000000"}

    def parts(self, submitted: Submitted) -> tuple[str, list[tuple[str, str]]]:
        rows = submitted.rows_that_fit(escaped, rows=MOST_ROWS, label=MOST_NAME, value=MOST_VALUE, in_all=MOST_IN_ALL)
        return cut_to_fit(submitted.title, MOST_TITLE, escaped), rows

    def message(self, submitted: Submitted, title: str, rows: list[tuple[str, str]]) -> dict[str, Any]:
        embed: dict[str, Any] = {
            "title": escaped(title),
            "timestamp": submitted.created_at,
            "fields": [{"name": escaped(name), "value": escaped(value), "inline": False} for name, value in rows],
        }
        if submitted.url:
            embed["url"] = submitted.url
        return {"embeds": [embed], "allowed_mentions": {"parse": []}}

    def judge(self, outcome: Outcome) -> Outcome:
        """Prefer the exact `retry_after` of the body, in seconds; the header is rounded."""
        return with_wait(super().judge(outcome), answer_of(outcome).get("retry_after"))


def escaped(text: str) -> str:
    """Return a text in which Discord reads no markup, no masked link and no mention."""
    return MARKUP.sub(r"\\\1", text)
