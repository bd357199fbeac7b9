"""The text of a notification mail, in which nothing that a stranger typed becomes markup or a link."""

from typing import Any

import pytest

from webhooks.channels.mail_rendering import render_submission
from webhooks.channels.smtp import Mail

RECORD = {
    "id": "sub_01jz0000000000000000000000",
    "formId": "frm_01jz0000000000000000000000",
    "data": {"name": "Zoë <b>Zed</b>", "message": "one\ntwo & https://evil.example/?a=1&b=2", "<script>": ""},
    "createdAt": "2026-03-01T23:59:58.999Z",
}


def render(record: Any = RECORD, **changes: Any) -> Mail:
    options = {"form_name": "Contact & more", "form_url": None, "subject": "", "reply_to": "zoe@example.com"}
    return render_submission(
        record, to="ana@example.com", message_id="<dlv_1@fieldpost.example>", **(options | changes)
    )


def test_render_submission__text__says_everything_as_it_was_typed() -> None:
    mail = render(form_url="https://fieldpost.example/s/1")
    assert mail.text.strip() == (
        "New submission to Contact & more\n\n"
        "name:\nZoë <b>Zed</b>\n\n"
        "message:\none\ntwo & https://evil.example/?a=1&b=2\n\n"
        "<script>:\n\n\n"
        "--\nReceived 2026-03-01 23:59:58 UTC\nSubmission sub_01jz0000000000000000000000\n"
        "Read it in Fieldpost: https://fieldpost.example/s/1\n\n"
        f"You get each submission of Contact & more by mail. Stop these mails: {mail.stop_url}"
    )


def test_render_submission__html__escapes_names_and_values_and_links_only_the_stop_page() -> None:
    mail = render()
    html = mail.html.replace(f'<a href="{mail.stop_url}">Stop these mails</a>', "")
    assert html != mail.html
    assert "New submission to Contact &amp; more" in html
    assert "Zoë &lt;b&gt;Zed&lt;/b&gt;" in html
    assert "one<br>two &amp; https://evil.example/?a=1&amp;b=2" in html
    assert "&lt;script&gt;" in html
    assert "2026-03-01 23:59:58 UTC" in html
    assert not any(forbidden in html for forbidden in ("<b>", "<script", "<a ", "href"))


@pytest.mark.parametrize("form_url", ['https://fieldpost.example/"><script>', "https://fieldpost.example/s/1?a&b"])
def test_render_submission__our_links__are_the_only_ones_and_escaped(form_url: str) -> None:
    html = render(form_url=form_url).html
    assert html.count("<a ") == html.count("href=") == 2
    assert "<script" not in html


def test_render_submission__long_values__are_kept_whole() -> None:
    record = {**RECORD, "data": {"long": "x" * 65_536}}
    assert "x" * 65_536 in render(record).text
    assert "x" * 65_536 in render(record).html


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("", "New submission: Contact & more"), (" \r\n", "New submission: Contact & more"), ("My\r\ntitle", "My title")],
)
def test_render_submission__subject__is_the_given_one_or_names_the_form(subject: str, expected: str) -> None:
    mail = render(subject=subject)
    assert (mail.subject, mail.to, mail.reply_to) == (expected, "ana@example.com", "zoe@example.com")
    assert mail.message_id == "<dlv_1@fieldpost.example>"
