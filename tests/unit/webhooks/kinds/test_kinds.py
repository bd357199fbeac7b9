"""
Each kind of destination against a server that this test plays from the vendor's documents.

- Slack: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
- Discord: discord.com/developers/docs/resources/webhook and /topics/rate-limits
- Teams: learn.microsoft.com/connectors/teams
- Telegram: core.telegram.org/bots/api
- Mattermost: developers.mattermost.com/integrate/webhooks/incoming, docs.mattermost.com/collaborate/format-messages
- ntfy: docs.ntfy.sh/publish
"""

import json
import socket
from typing import Any

import pytest
from pytest_django import Settings

from config.api.errors import ValidationFailed
from tests.services.receivers import Receiver, Reply
from tests.unit.webhooks.kinds.kinds_at_work import CONFIGS, HOSTILE, SUBMITTED, URL, deliver
from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import Submitted
from webhooks.transport import address_guard

LONG = Submitted(
    "F" * 300, "sub_1", "2026-11-23T00:00:00.000Z", {f"f{n}" * 60: "ä<😀" * 3000 for n in range(90)}, {}, URL
)
TIME = "2026-11-23T00:00:00.000Z"
ESCAPED = [
    Submitted(one * 300, "sub_1", TIME, {one * 90: one * 9000, "a": one * 9000}, {}, URL)
    for one in ("&", "*", '"', "\\")
]
CHATS = ["slack", "discord", "teams", "telegram", "ntfy"]


def sent_by(vendor: Receiver, name: str, submitted: Submitted = SUBMITTED) -> Any:
    assert deliver(name, submitted=submitted).succeeded
    return json.loads(vendor.requests[-1].body)


def test_slack__message__has_plain_text_whose_control_characters_are_escaped(vendor: Receiver) -> None:
    message = sent_by(vendor, "slack")
    escaped = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    title = "New submission: Jobs &amp; more"
    assert message == {
        "text": title,
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
            {"type": "section", "text": {"type": "plain_text", "text": f"Your name\n{escaped}", "emoji": False}},
            {"type": "section", "text": {"type": "mrkdwn", "text": f"<{URL}|Open the submission>"}},
        ],
        "unfurl_links": False,
        "unfurl_media": False,
    }
    request = vendor.requests[0]
    assert (request.path, request.headers["x-asked-host"]) == ("/services/T1/B1/secret", "hooks.slack.com")


def test_discord__message__mentions_nobody_and_escapes_markdown(vendor: Receiver) -> None:
    message = sent_by(vendor, "discord")
    (embed,) = message["embeds"]
    assert message["allowed_mentions"] == {"parse": []}
    assert embed["fields"][0]["value"].startswith(
        "\\<!channel\\> \\<\\@U1\\> \\@everyone \\@admin \\*bold\\* \\[x\\]\\(https"
    )
    assert (embed["title"], embed["url"]) == ("New submission\\: Jobs & more", URL)


def test_teams__message__is_a_card_of_text_runs(vendor: Receiver) -> None:
    card = sent_by(vendor, "teams")["attachments"][0]["content"]
    texts = [block["inlines"][0]["text"] for block in card["body"]]
    assert texts == ["New submission: Jobs & more", "Your name", HOSTILE]
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the submission", "url": URL}]


def test_telegram__message__has_no_parse_mode_and_no_mention(vendor: Receiver) -> None:
    message = sent_by(vendor, "telegram")
    value = HOSTILE.replace("@", "@\u2060")
    assert message == {
        "chat_id": "-1001",
        "text": f"New submission: Jobs & more\n\nYour name: {value}\n\n{URL}",
        "link_preview_options": {"is_disabled": True},
    }
    assert vendor.requests[0].path == f"/bot{CONFIGS['telegram']['token']}/sendMessage"


def test_mattermost__message__is_code_that_mentions_nobody(vendor: Receiver) -> None:
    message = sent_by(vendor, "mattermost")
    value = HOSTILE.replace("<", "\uff1c")
    title = "New submission: Jobs & more"
    text = f"`Your name`\n\n```\n{value}\n```"
    attachment = {"fallback": title, "title": title, "title_link": URL, "text": text}
    assert message == {"attachments": [attachment]}
    assert vendor.requests[0].path == "/team/hooks/xxxgeneratedsecret"
    hostile = Submitted("@all <!here>", "s", TIME, {"`<a": "`````\n@channel", "b": "|```x>"}, {}, "")
    (attachment,) = sent_by(vendor, "mattermost", hostile)["attachments"]
    assert attachment["title"] == "Test: new submission to @\u2060all \uff1c!here>"
    blocks = ["`'\uff1ca`", "``````\n`````\n@channel\n``````", "`b`", "````\n|```x>\n````"]
    assert attachment["text"].split("\n\n") == blocks


def test_ntfy__message__is_json_to_the_root_with_the_token(vendor: Receiver) -> None:
    message = sent_by(vendor, "ntfy")
    text = f"Your name: {HOSTILE}"
    assert message == {"topic": "my-topic", "title": "New submission: Jobs & more", "message": text, "click": URL}
    assert (vendor.requests[0].path, vendor.requests[0].headers["authorization"]) == ("/", "Bearer tk_secret")


POSING = Submitted(
    "Jobs", "sub_1", TIME, {"a\r\nb\u202e": "1\r\nPhone: 2\u2028\u202e3\x07", " \n": "x.@all -@all \u00b2@all"}, {}, ""
)


def test_value__that_poses_as_another_field__is_indented_and_visible(vendor: Receiver) -> None:
    lines = ["a b: 1", "    Phone: 2", "    3", "-: x.@all -@all \u00b2@all"]
    assert sent_by(vendor, "ntfy", POSING)["message"].split("\n") == lines
    lines[-1] = "-: x.@\u2060all -@\u2060all \u00b2@all"
    assert sent_by(vendor, "telegram", POSING)["text"].split("\n")[2:] == lines
    sections = sent_by(vendor, "slack", POSING)["blocks"][1:]
    assert [one["text"]["text"] for one in sections] == ["a b\n1\nPhone: 2\n3", "-\nx.@all -@all \u00b2@all"]
    fields = sent_by(vendor, "discord", POSING)["embeds"][0]["fields"]
    assert [one["name"] for one in fields] == ["a b", "\\-"]


@pytest.mark.parametrize("long", [LONG, *ESCAPED])
def test_long_submission__every_chat__stays_within_the_bounds_of_its_service(vendor: Receiver, long: Submitted) -> None:
    slack = sent_by(vendor, "slack", long)
    assert len(slack["blocks"][0]["text"]["text"]) <= 150
    assert len(slack["blocks"]) <= 50
    assert max(len(block["text"]["text"]) for block in slack["blocks"]) <= 3000
    assert sum(len(block["text"]["text"]) for block in slack["blocks"]) <= 11_000
    embed = sent_by(vendor, "discord", long)["embeds"][0]
    assert max(len(field["value"]) for field in embed["fields"]) <= 1024
    assert sum(len(field["name"]) + len(field["value"]) for field in embed["fields"]) + len(embed["title"]) <= 6000
    sent_by(vendor, "teams", long)
    assert len(vendor.requests[-1].body) <= 28_000
    telegram = sent_by(vendor, "telegram", long)["text"]
    assert len(telegram.encode("utf-16-le")) <= 2 * 4096
    assert telegram.endswith(URL)
    assert len(sent_by(vendor, "ntfy", long)["message"].encode()) <= 4096
    (attachment,) = sent_by(vendor, "mattermost", long)["attachments"]
    assert len(json.dumps(attachment, ensure_ascii=False)) <= 7_900
    assert attachment["text"].endswith("```")


@pytest.mark.parametrize("name", CONFIGS)
def test_logged_request__every_kind__holds_no_secret(name: str) -> None:
    kind = KINDS[name]
    config = kind.read(CONFIGS[name])
    request = kind.render(SUBMITTED, config)
    assert "secret" not in request.logged()
    shown = repr(request).replace("secret_headers", "")
    assert "secret" not in shown
    assert "<!channel>" not in shown
    assert "secret" not in json.dumps(kind.shown(config))


ANSWERS = [
    ("slack", Reply(403, body=b"invalid_token"), True, None),
    ("slack", Reply(404, body=b"no_service"), True, None),
    ("slack", Reply(410, body=b"channel_is_archived"), True, None),
    ("slack", Reply(400, body=b"invalid_payload"), False, None),
    ("slack", Reply(429, {"Retry-After": "30"}), False, 30.0),
    ("discord", Reply(401, body=b'{"message": "Invalid Webhook Token", "code": 50027}'), True, None),
    ("discord", Reply(404, body=b'{"message": "Unknown Webhook", "code": 10015}'), True, None),
    ("discord", Reply(429, {"Retry-After": "1"}, b'{"retry_after": 0.64, "global": false}'), False, 0.64),
    ("teams", Reply(401), True, None),
    ("teams", Reply(500), False, None),
    ("telegram", Reply(401, body=b'{"ok":false,"error_code":401,"description":"Unauthorized"}'), True, None),
    ("telegram", Reply(400, body=b'{"ok":false,"description":"Bad Request: chat not found"}'), True, None),
    ("telegram", Reply(400, body=b'{"ok":false,"description":"Bad Request: message is too long"}'), False, None),
    ("telegram", Reply(429, body=b'{"ok":false,"parameters":{"retry_after":7}}'), False, 7.0),
    ("telegram", Reply(400, body=b"[]"), False, None),
    (
        "telegram",
        Reply(400, body=b'{"description":"Bad Request: group chat was upgraded to a supergroup chat"}'),
        True,
        None,
    ),
    ("telegram", Reply(429, {"Retry-After": "9"}, b'{"parameters":{"retry_after":"x"}}'), False, 9.0),
    ("discord", Reply(429, {"Retry-After": "2"}, b'{"retry_after": NaN}'), False, 2.0),
    ("discord", Reply(429, {"Retry-After": "2"}, b'{"retry_after": 1e999}'), False, 86_400.0),
    ("discord", Reply(429, {"Retry-After": "2"}, b"[" * 4000), False, 2.0),
    ("mattermost", Reply(400, body=b'{"id": "web.incoming_webhook.invalid.app_error"}'), True, None),
    ("mattermost", Reply(400, body=b'{"id": "web.incoming_webhook.parse.app_error"}'), False, None),
    ("mattermost", Reply(403, body=b'{"id": "web.incoming_webhook.permissions.app_error"}'), True, None),
    ("mattermost", Reply(501, body=b'{"id": "web.incoming_webhook.disabled.app_error"}'), True, None),
    ("mattermost", Reply(429, {"Retry-After": "3"}), False, 3.0),
    ("ntfy", Reply(403, body=b'{"code":40301,"http":403,"error":"forbidden"}'), True, None),
    ("ntfy", Reply(429), False, None),
    ("http", Reply(410), True, None),
    ("http", Reply(503, {"Retry-After": "9"}), False, 9.0),
]


@pytest.mark.parametrize(("name", "reply", "is_refused", "wait"), ANSWERS)
def test_answer__of_each_service__is_classified(
    vendor: Receiver, name: str, reply: Reply, is_refused: bool, wait: float | None
) -> None:
    vendor.reply = reply
    outcome = deliver(name)
    assert (outcome.succeeded, bool(outcome.refused), outcome.retry_after_seconds) == (False, is_refused, wait)
    assert (outcome.gone, outcome.permanent) == (False, False)


REFUSED = [
    ("slack", "https://hooks.slack.com@evil.example/services/T/B/x"),
    ("slack", "https://hooks.slack.com:8443/services/T/B/x"),
    ("slack", "https://hooks.slack.com/services/T/B/x?a=1"),
    ("slack", "https://xhooks.slack.com/services/T/B/x"),
    ("discord", "https://discord.com.evil.example/api/webhooks/123456789012345678/aaaaaaaaaaaaaaaaaaaaaaaa"),
    ("discord", "https://discord.com/api/webhooks/123456789012345678/../../users"),
    ("teams", "https://contoso.webhook.office.com/webhookb2/a?sig=1"),
    ("teams", "https://logic.azure.com.evil.example/workflows/a?sig=1"),
    ("ntfy", "https://ntfy.sh/"),
    ("mattermost", "https://chat.example/hooks/"),
    ("mattermost", "https://chat.example/xhooks/abc"),
    ("mattermost", "https://chat.example/?a=/hooks/abc"),
    ("mattermost", "https://chat.example/hooks/abc?x"),
    ("mattermost", "https://chat.example/hooks/ab\u00e9"),
    ("mattermost", "https://a:b@chat.example/hooks/abc"),
]


@pytest.mark.parametrize(("name", "url"), REFUSED)
def test_read__address_that_is_not_the_services__is_refused(name: str, url: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        KINDS[name].read({"url": url})
    assert [detail.field for detail in refused.value.details] == ["config.url"]


ADDRESSES = {**CONFIGS, "ntfy": {"url": "http://ntfy.example/a"}, "http": {"url": "http://in.example/", "template": {}}}


@pytest.mark.parametrize("name", [*ADDRESSES, "google_sheets"])
def test_send__name_leads_to_a_private_address__connects_nowhere(
    name: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, sheets: dict[str, Any]
) -> None:
    settings.WEBHOOK_ALLOW_HTTP, settings.WEBHOOK_ALLOWED_NETWORKS = True, []
    private = [address_guard.SocketAddress(socket.AF_INET, ("127.0.0.1", 80))]
    monkeypatch.setattr(address_guard, "look_up", lambda *_: private)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it connected"))
    assert deliver(name, {**ADDRESSES, "google_sheets": sheets}[name]).error == "address_refused"


FREE = {"mattermost": "https://10.0.0.1/hooks/abc", "ntfy": "https://[::1]/a", "http": "https://169.254.169.254/"}


@pytest.mark.parametrize("name", FREE)
def test_check_addresses__private_address_of_a_kind_with_any_host__is_refused(name: str, settings: Settings) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    with pytest.raises(ValidationFailed) as refused:
        KINDS[name].check_addresses({"url": FREE[name]})
    assert [(each.field, each.code) for each in refused.value.details] == [("config.url", "address_not_allowed")]


@pytest.mark.parametrize("name", CONFIGS)
def test_send__redirect__is_a_failure_that_is_not_followed(vendor: Receiver, name: str) -> None:
    with Receiver() as trap:
        vendor.reply = Reply(302, {"Location": trap.url()})
        outcome = deliver(name)
        assert (outcome.succeeded, outcome.error, outcome.refused) == (False, "redirect", "")
        assert trap.requests == []
