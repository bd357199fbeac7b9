"""Every channel by its name. A new channel is one line here."""

from typing import Any

from webhooks.channels.channel import Channel
from webhooks.channels.destination import DestinationChannel
from webhooks.channels.mail import MailChannel
from webhooks.channels.webhook import WebhookChannel

CHANNELS: dict[str, Channel[Any]] = {
    channel.name: channel
    for channel in (
        WebhookChannel(),
        MailChannel(),
        DestinationChannel(),
    )
}
