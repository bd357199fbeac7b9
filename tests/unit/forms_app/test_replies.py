"""The texts of replies: which values fill them, how they are cut, and that no link gets in."""

import pytest
from django.core.mail.message import sanitize_address

from forms_app.consent.addresses import is_of_a_program, is_single_address, mailbox_of
from forms_app.texts.placeholders import TemplateRefused, fill_text, placeholders_in
from forms_app.texts.replies import Filled, Reply, confirmation_lines, fill_reply, name_for_submitters, shown_value

FIELDS = [
    {"name": "email", "label": "Email", "type": "Email"},
    {"name": "name", "label": "Name", "type": "Text"},
    {"name": "topic", "label": "Topic", "type": "Select"},
    {"name": "count", "label": "Count", "type": "Number"},
    {"name": "day", "label": "Day", "type": "Date"},
]
DATA = {"email": "ada@example.com", "name": "Ada", "topic": "Sales", "count": "3", "day": "2026-01-31", "x": "extra"}
EVERYTHING = "{{ data.email }},{{ data.name }},{{ data.topic }},{{ data.count }},{{ data.day }},{{ data.x }}"


def filled(text: str, confirmed: str = "", **data: str) -> str:
    reply = Reply(True, "s", text)
    others = {"form.name": "Contact"}
    return fill_reply(reply, fields=FIELDS, data={**DATA, **data}, others=others, confirmed=confirmed).text


def test_reply__before_confirmation__has_only_bounded_values() -> None:
    assert filled(EVERYTHING) == ",,Sales,3,2026-01-31,"


def test_reply__after_confirmation__has_every_declared_value() -> None:
    assert filled(EVERYTHING, confirmed="ada@example.com") == "ada@example.com,Ada,Sales,3,2026-01-31,"


def test_missing_value__has_its_default() -> None:
    assert filled('{{ data.name | default: "friend" }} {{ form.name }}') == "friend Contact"


def test_value__with_a_placeholder__is_not_read_again() -> None:
    assert filled("{{ data.name }}", "ada@example.com", name="{{ data.x }}") == "{{ data.x }}"


def test_other_address__than_the_confirmed_one__is_left_out_as_a_link() -> None:
    assert filled("{{ data.name }}", "ada@example.com", name="eve@evil.example") == ""


def test_number__before_confirmation__is_cut() -> None:
    assert len(filled("{{ data.count }}", count="1" * 500)) == 60


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Ada Lovelace", "Ada Lovelace"),
        ("see https://evil.example/x now", "see now"),
        ("www.evil and evil.example", "and"),
        ("a\nb evil.example\nc", "a\nb\nc"),
        ("evil\uff0eexample", ""),
        ("//evil.example", ""),
        ("mailto:eve", ""),
        ("1.5 is fine", "1.5 is fine"),
        ("x" * 300, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_value__is_cut_and_without_links(value: str, shown: str) -> None:
    assert shown_value(value) == shown


def test_subject__stays_on_one_line() -> None:
    reply = Reply(True, "For {{ data.name }}", "t")
    done = fill_reply(reply, fields=FIELDS, data={"name": "Ada\nBcc: eve"}, others={}, confirmed="ada@example.com")
    assert done == Filled("For Ada Bcc: eve", "t")


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("ada@example.com", True),
        ("ada+tag@example.com", True),
        ("a@example.com,b@example.com", False),
        ("a@example.com b@example.com", False),
        ("a@example.com\nBcc: b@example.com", False),
        ("Ada <ada@example.com>", False),
        ('"a,b"@example.com', False),
        ("a" * 250 + "@example.com", False),
        ("a" * 64 + "@" + ".".join(["\u00fc" * 45] * 4) + ".com", False),  # 254 characters, but not as sent
        ("ada@b\u00fccher.example", True),
        ("ada@[192.0.2.1]", False),
        ("\u017fue@example.com", False),
        ("a=?b@example.com", True),
        ("=?utf-8?q?=61da?=@example.com", False),
        ("=?utf-8?q?a=2cb=40example.com=3e=20?=@example.com", False),
        ("", False),
    ],
)
def test_address__is_exactly_one_or_none(address: str, is_one: bool) -> None:
    assert is_single_address(address) is is_one


@pytest.mark.parametrize(
    ("address", "mailbox"),
    [
        ("Ada@Example.com", "ada@example.com"),
        ("ada+news@example.com", "ada@example.com"),
        ("ada+a+b@example.com", "ada@example.com"),
        ("+ada@example.com", "+ada@example.com"),
        ('"Ada"@example.com', "ada@example.com"),
        ('"a\\da+news"@example.com', "ada@example.com"),
        ("\uff21\uff24\uff21@example.com", "ada@example.com"),
        ("ada@\uff45xample.com", "ada@example.com"),
        ("ada@exam\u00adple.com", "ada@example.com"),
        ("ada@B\u00dcCHER.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--BCHER-kva.example", "ada@xn--bcher-kva.example"),
    ],
)
def test_mailbox__is_the_address_without_its_tag(address: str, mailbox: str) -> None:
    assert mailbox_of(address) == mailbox


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com",
        "ada@\uff45xample.com",
        "ada@exam\u00adple.com",
        "ada@stra\u00dfe.example",
        "=?utf-8?q?=61da?=@example.com",
        "=?utf-8?b?YWRh?=@example.com",
    ],
)
def test_single_address__as_the_mail_library_sends_it__is_its_mailbox(address: str) -> None:
    assert not is_single_address(address) or sanitize_address(address, "utf-8") == mailbox_of(address)


@pytest.mark.parametrize(
    ("address", "is_program"),
    [
        ("MAILER-DAEMON@example.com", True),
        ("no-reply+x@example.com", True),
        ("owner-list@example.com", True),
        ("list-request@example.com", True),
        ("ada@example.com", False),
        ("requests@example.com", False),
    ],
)
def test_address_of_a_program__is_known(address: str, is_program: bool) -> None:
    assert is_of_a_program(address) is is_program


@pytest.mark.parametrize(
    "text", ["{{ name }}", "{{ data. }}", "{{", "}}", "{{ data.a | upper }}", "{{ data.a | truncate: 0 }}"]
)
def test_placeholder__unknown__is_refused(text: str) -> None:
    with pytest.raises(TemplateRefused):
        list(placeholders_in(text))


@pytest.mark.parametrize(
    "other", ["{% if data.a %}", "${data.a}", "<%= data.a %>", "{data.a}", "{# x #}", "$a", "%(a)s"]
)
def test_placeholder__of_another_template_language__is_text(other: str) -> None:
    assert filled(f"{other} {{{{ form.name }}}}") == f"{other} Contact"


def test_text__is_filled_once_for_each_placeholder() -> None:
    assert fill_text("{{ data.a }}{{data.b|truncate: 2}}", lambda name: f"<{name}>") == "<data.a><…"


@pytest.mark.parametrize(
    ("name", "said"),
    [("Contact", "the form Contact of Acme"), ("Win at evil.example/claim", "a form of Acme")],
)
def test_question__names_the_form__unless_its_name_holds_a_web_address(name: str, said: str) -> None:
    line = confirmation_lines(name_for_submitters(name), "Acme", "ada@example.com")[0]
    assert line == f"Somebody filled in {said} with this address: ada@example.com"
