"""A submission, the config of each kind, and its delivery."""

from typing import Any

from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import Submitted
from webhooks.transport.outcome import Outcome

URL = "https://fieldpost.example/dashboard/submissions/sub_1"
HOSTILE = "<!channel> <@U1> @everyone @admin *bold* [x](https://evil.example) `a` & ||b|| </b>"
SUBMITTED = Submitted(
    "Jobs & more", "sub_1", "2026-11-23T00:00:00.000Z", {"name": HOSTILE, "empty": ""}, {"name": "Your name"}, URL
)
CONFIGS: dict[str, dict[str, Any]] = {
    "slack": {"url": "https://hooks.slack.com/services/T1/B1/secret"},
    "discord": {"url": "https://discord.com/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaaaaaa_secret"},
    "teams": {
        "url": "https://prod-1.westeurope.logic.azure.com:443/workflows/a/triggers/b/paths/invoke?sp=x&sig=secret"
    },
    "telegram": {"token": "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAsecret", "chatId": -1001},
    "mattermost": {"url": "https://chat.example/team/hooks/xxxgeneratedsecret"},
    "ntfy": {"url": "https://ntfy.sh/my-topic", "token": "tk_secret"},
    "http": {
        "url": "https://crm.example/in?a=1",
        "headers": {"X-Key": "secret"},
        "template": {"a": ["{{ data.name }}"]},
    },
}


def deliver(name: str, config: dict[str, Any] | None = None, submitted: Submitted = SUBMITTED) -> Outcome:
    kind = KINDS[name]
    return kind.send(kind.render(submitted, kind.read(config or CONFIGS[name])), "")
