"""The texts and inputs of each kind for the screens: a kind that leaves something out fails here."""

import json

import pytest

from webhooks.kinds.kind import Kind
from webhooks.kinds.registry import KINDS
from webhooks.kinds.submitted import Submitted

HOSTILE = "<b>&amp; \\ \\\\ *a* _b_ @everyone <!channel> \\*</b>"
URL = "https://fieldpost.example/dashboard/submissions/sub_1"
SUBMITTED = Submitted("Jobs & *more*", "sub_1", "2026-11-23T00:00:00.000Z", {"name": HOSTILE}, {"name": "Na|me"}, URL)
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@every_kind
def test_kind__screen__asks_for_every_member_and_masks_secrets(kind: Kind) -> None:
    serializer = kind.config_class()
    asked = {each.name: each for each in kind.inputs}
    assert asked.keys() == serializer.fields.keys()
    assert {name for name, each in asked.items() if each.is_secret} >= set(kind.secrets)
    assert {name for name, field in serializer.fields.items() if field.required} <= kind.example.keys()
    assert kind.summary
    assert len(kind.steps) >= 3


@every_kind
def test_preview__rendered_request__is_what_its_readers_see(kind: Kind) -> None:
    shown = kind.previewed(kind.render(SUBMITTED, {**kind.example}), SUBMITTED)
    if shown.code:
        assert json.loads(shown.code) == {
            "form": "Jobs & *more*",
            "id": "sub_1",
            "createdAt": "2026-11-23T00:00:00.000Z",
        }
    elif shown.cells:
        assert shown.cells == (
            ("Submission ID", "sub_1"),
            ("Submitted at", "2026-11-23T00:00:00.000Z"),
            ("name", HOSTILE),
        )
    else:
        assert shown.title == "New submission: Jobs & *more*"  # without an escape that readers do not see
        seen = "\n".join([*(f"{label}: {value}" for label, value in shown.rows), shown.text])
        seen = seen.replace("\u2060", "").replace("\uff1c", "<")  # they keep a text from being markup of a chat
        assert f"Na|me: {HOSTILE}" in seen
        assert "Open the submission" in shown.link or URL in shown.text


def test_read_part__some_members_are_wrong__returns_the_others() -> None:
    telegram = KINDS["telegram"]
    read, details = telegram.read_part({"token": "wrong", "chatId": "-5"})
    assert read == {"chatId": "-5"}
    assert [(one.field, one.code) for one in details] == [("config.token", "invalid_token")]
    assert telegram.read_part({}) == ({}, [])
