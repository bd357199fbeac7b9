"""Every channel by its name. A new channel is one line here."""

from typing import Any

from webhooks.channels.base import Channel
from webhooks.channels.destinations.channel import DestinationChannel
from webhooks.channels.mail import MailChannel
from webhooks.channels.webhook import WebhookChannel
from webhooks.models import Delivery

CHANNELS: dict[str, Channel[Any]] = {
    channel.name: channel
    for channel in (
        WebhookChannel(),
        MailChannel(),
        DestinationChannel(),
    )
}


def channel_of(delivery: Delivery) -> Channel[Any]:
    """Return the channel of a delivery. Raises KeyError for one that this release does not know."""
    return CHANNELS[delivery.channel]
