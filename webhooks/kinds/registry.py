"""Every kind of destination by its name. A new kind is one line here."""

from webhooks.kinds.discord import Discord
from webhooks.kinds.google_sheets import GoogleSheets
from webhooks.kinds.http_request import Http
from webhooks.kinds.kind import Kind
from webhooks.kinds.mattermost import Mattermost
from webhooks.kinds.ntfy import Ntfy
from webhooks.kinds.slack import Slack
from webhooks.kinds.teams import Teams
from webhooks.kinds.telegram import Telegram

KINDS: dict[str, Kind] = {
    kind.name: kind for kind in (Slack(), Discord(), Teams(), Telegram(), Mattermost(), Ntfy(), Http(), GoogleSheets())
}
