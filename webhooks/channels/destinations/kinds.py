"""Every kind of destination by its name. A new kind is one line here."""

from webhooks.channels.destinations.discord import Discord
from webhooks.channels.destinations.google_sheets import GoogleSheets
from webhooks.channels.destinations.http_request import Http
from webhooks.channels.destinations.kind import Kind
from webhooks.channels.destinations.mattermost import Mattermost
from webhooks.channels.destinations.ntfy import Ntfy
from webhooks.channels.destinations.slack import Slack
from webhooks.channels.destinations.teams import Teams
from webhooks.channels.destinations.telegram import Telegram

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Slack(), Discord(), Teams(), Telegram(), Mattermost(), Ntfy(), Http(), GoogleSheets())
}
