"""The text of a notification mail, in which nothing that a stranger typed becomes markup or a link."""

import html
import re
from typing import Any

import pytest
from django.conf import settings

from keys.branding.mail_html import html_of
from keys.models import Organization
from webhooks.channels.mail_rendering import render_submission
from webhooks.transport.smtp import Mail

RECORD = {
    "id": "sub_01jz0000000000000000000000",
    "formId": "frm_01jz0000000000000000000000",
    "data": {"name": "Zoë <b>Zed</b>", "message": "one\ntwo & https://evil.example/?a=1&b=2", "<script>": ""},
    "createdAt": "2026-03-01T23:59:58.999Z",
}


def test_html_of__our_addresses__become_buttons_and_links_and_others_stay_text() -> None:
    ours = f"{settings.PUBLIC_URL}/account/"
    text = (
        f"Hello <b>.\n\nQX7K-M2PD\n\nLog in: {ours}login/\nSet a new password: {ours}reset/\n\n"
        f"Browser: {ours}x https://evil.example/\n\nhttps://evil.example/\n\nGo there: now and at {ours}end\n\n"
        f"Fieldpost\n{settings.PUBLIC_URL}\n"
    )
    page = " ".join(html_of("QX7K-M2PD is <your> code", text, code="QX7K-M2PD").split())
    links = re.findall(r'<a [^>]*href="([^"]+)"[^>]*>(?:<strong>)?([^<]+)<', page)
    assert links == [(f"{ours}login/", "Log in"), (f"{ours}reset/", "Set a new password")]
    assert "Hello &lt;b&gt;." in page
    assert re.search(r'class="code"[^>]*> <span[^>]*>QX7K-M2PD</span> </p>', page)
    assert "<title>QX7K-M2PD is &lt;your&gt; code</title>" in page


def render(record: Any = RECORD, **changes: Any) -> Mail:
    options = {"form_name": "Contact & more", "form_url": None, "subject": "", "reply_to": "zoe@example.com"}
    return render_submission(
        record, to="ana@example.com", message_id="<dlv_1@fieldpost.example>", **(options | changes)
    )


def test_render_submission__text__says_everything_as_it_was_typed() -> None:
    mail = render(form_url="https://fieldpost.example/s/1", labels={"name": "What is your name?", "message": "Message"})
    assert mail.text.strip() == (
        "New submission to Contact & more\n\n"
        "What is your name?\nZoë <b>Zed</b>\n\n"
        "Message:\none\ntwo & https://evil.example/?a=1&b=2\n\n"
        "<script>:\n\n\n"
        "--\nReceived 2026-03-01 23:59:58 UTC\nSubmission sub_01jz0000000000000000000000\n"
        f"Open: https://fieldpost.example/s/1\nMark as spam: {mail.spam_url}\n\n"
        f"You get each submission of Contact & more by mail. Stop these mails: {mail.stop_url}"
    )


def a_file(name: str, scan: str = "none", size: int = 12_700) -> dict[str, Any]:
    url = f"{settings.PUBLIC_URL}/files/upl_{scan}"
    return {"id": "upl_1", "field": "cv", "name": name, "size": size, "type": "text/plain", "scan": scan, "url": url}


def test_render_submission__with_files__names_them_and_links_those_that_are_not_withheld() -> None:
    files = [a_file("<b>cv</b>.pdf"), a_file("ill.doc", "infected"), a_file("new.txt", "pending", size=2**20)]
    mail = render({**RECORD, "data": {"cv": "some"}, "files": files})
    assert mail.text.partition("cv:\nsome\n\n")[2].partition("--")[0] == (
        "Files. Download them with your login.\n\n"
        f"<b>cv</b>.pdf (12.4 KiB)\n{settings.PUBLIC_URL}/files/upl_none\n\n"
        "ill.doc (12.4 KiB)\nThe virus scanner found it infected, so it is withheld.\n\n"
        "new.txt (1 MiB)\nIt is withheld until the virus scanner has read it.\n\n"
    )
    shown = " ".join(mail.html.split())
    links = re.findall(r'<a [^>]*href="([^"]+)"[^>]*>([^<]*)<', shown)
    assert links == [(f"{settings.PUBLIC_URL}/files/upl_none", "Download"), (mail.stop_url, "Stop these mails")]
    assert "<bdi>&lt;b&gt;cv&lt;/b&gt;.pdf</bdi>" in shown
    assert shown.count("withheld") == 2


def test_render_submission__thousands_of_files__stays_below_what_mail_programs_cut() -> None:
    files = [a_file(f"{number}{'n' * 200}.pdf") for number in range(2000)]
    mail = render({**RECORD, "files": files})
    assert len(mail.html.encode()) <= 100_000
    assert mail.text.count("/files/upl_none") == 2000


@pytest.mark.parametrize("form_url", ['https://fieldpost.example/"><script>', "https://fieldpost.example/s/1?a&b"])
def test_render_submission__html__escapes_everything_and_links_only_our_pages(form_url: str) -> None:
    brand = Organization(name="Nora <b>", accent="#c2410c", logo_name=f"{'0' * 32}-480x160-dark")
    mail = render(form_url=form_url, labels={"name": "<i>Name"}, organization=brand)
    links = re.findall(r'<a [^>]*href="([^"]+)"', " ".join(mail.html.split()))
    assert [html.unescape(link) for link in links] == [form_url, mail.spam_url, mail.stop_url]
    shown = " ".join(mail.html.split())
    for part in (
        "New submission to Contact &amp; more",
        "&lt;i&gt;Name",
        "Zoë &lt;b&gt;Zed&lt;/b&gt;",
        "&lt;script&gt;",
    ):
        assert part in shown
    assert "one<br>two &amp; https://evil.example/?a=1&amp;b=2" in shown
    assert (
        f'src="{settings.PUBLIC_URL}/f/brand/{brand.logo_name}.png" alt="Nora &lt;b&gt;" width="168" height="56"'
        in shown
    )
    assert "background: #c2410c" in shown
    assert not any(forbidden in mail.html for forbidden in ("<b>", "<i>", "<script"))


def test_render_submission__of_a_test__has_no_page_to_open_and_nothing_to_mark() -> None:
    mail = render()
    assert (mail.spam_url, mail.html.count("<a "), "Mark as spam" in mail.text) == ("", 1, False)
    assert "Fieldpost" in mail.html  # without an organization


@pytest.mark.parametrize(
    ("data", "left_out"),
    [
        ({"long": "x" * 65_536}, None),
        ({"long": "&" * 65_536, "end": "whole"}, "Long values are cut here."),
        ({f"{number:03}" + '"' * 120: '"\n' * 600 for number in range(200)}, "100 more values are left out here."),
    ],
    ids=["fits", "escaped", "hostile"],
)
def test_render_submission__long_values__are_whole_in_the_text_and_never_clipped_by_gmail(
    data: dict[str, str], left_out: str | None
) -> None:
    mail = render({**RECORD, "data": data}, form_url="https://fieldpost.example/s/1")
    assert all(value in mail.text for value in data.values())
    assert len(mail.html.encode()) <= 102_000
    assert html.escape(next(iter(data.values()))[:50]).split("\n")[0] in mail.html
    said = re.search(r"(\d+ more values are left out here\.|Long values are cut here\.)", mail.html)
    assert (said[1] if said else None) == left_out


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("", "New submission: Contact & more"), (" \r\n", "New submission: Contact & more"), ("My\r\ntitle", "My title")],
)
def test_render_submission__subject__is_the_given_one_or_names_the_form(subject: str, expected: str) -> None:
    mail = render(subject=subject)
    assert (mail.subject, mail.to, mail.reply_to) == (expected, "ana@example.com", "zoe@example.com")
    assert mail.message_id == "<dlv_1@fieldpost.example>"
