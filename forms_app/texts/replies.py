"""
Answers to a submitter by mail: a form's reply, and its question for confirmation (docs/contract.md 10).

Both go to an address that a stranger typed, so a form needs an Email field and a human check for either. Values of a
submitter who has not confirmed the address fill a text only where the form bounds them: Select, Number and Date. On the
Free plan, where anybody is an owner, the owner's words hold no link before that either.
"""

import dataclasses
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from django.utils.translation import gettext

from config.api.errors import ApiError, Detail, ValidationFailed, invalid
from config.base.text import SHOWN_OF_A_NAME, holds_web_address, name_for_strangers
from forms_app.field_kinds import FieldType
from forms_app.spam_protection import SpamProtection
from forms_app.texts.placeholders import DATA, TemplateRefused, cut, fill_text, placeholders_in, refuse_undeclared_names

MAX_SUBJECT = 200  # characters
MAX_TEXT = 5_000  # characters
MAX_PLACEHOLDERS = 50  # of subject and text together
MAX_VALUE = 200  # characters of one value
BOUNDED = frozenset({FieldType.SELECT.value, FieldType.NUMBER.value, FieldType.DATE.value})
MAX_BOUNDED = 60  # characters of such a value before its submitter has confirmed; a number may have any length
_WORD = re.compile(r"\S+")
SUBJECT, TEXT = "reply.subject", "reply.text"  # as details of errors name them


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a form, as it is stored and as the API has it."""

    enabled: bool = False
    subject: str = ""
    text: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> Self:
        return cls(**stored) if stored else cls()


@dataclasses.dataclass(frozen=True, slots=True)
class Filled:
    """The texts of a reply to one submission. `is_cut`: they lack words of the owner that would become links."""

    subject: str
    text: str
    is_cut: bool = False


def email_fields(fields: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the Email fields that a form declares."""
    return [field["name"] for field in fields if field["type"] == FieldType.EMAIL]


def has_human_check(protection: SpamProtection) -> bool:
    """Return whether a browser submission has to prove that it comes from a person's browser."""
    return protection.proof_of_work or bool(protection.captcha and protection.captcha_secret)


def refuse_links(reply: Mapping[str, Any] | None) -> None:
    """Refuse a reply that would hold a web address, whatever fills its placeholders. Raises ValidationFailed."""
    found = Reply.of(reply)
    for name, text in ((SUBJECT, found.subject), (TEXT, found.text)):
        if _has_link(fill_text(text, lambda _: "")) or _has_link(fill_text(text, lambda _: "x")):
            message = gettext(
                "On the Free plan, a reply with a web address needs confirmation. Turn it on, or leave the address out."
            )
            raise invalid(name, "link_not_allowed", message, has_subject=True)


def refuse_answers(
    *,
    reply: Mapping[str, Any] | None,
    confirmation: bool,
    fields: Sequence[Mapping[str, Any]],
    protection: SpamProtection,
    changed: Collection[str],
) -> None:
    """
    Refuse answers that the form cannot give. `changed`: the columns that the request sets; the error names one of them.

    Raises ValidationFailed.
    """
    found = Reply.of(reply)
    names = [field["name"] for field in fields]
    if "reply" in changed:
        refuse_texts(found, names)
    elif found.enabled and "fields" in changed:
        _refuse_removed_fields(found, names)
    if not (found.enabled or confirmation):
        return
    if not email_fields(fields):
        message = gettext("A reply or a confirmation needs an Email field, whose address it is sent to.")
        raise _lacking(changed, "fields", found, "email_field_required", message)
    if not has_human_check(protection):
        message = gettext(
            "A reply or a confirmation needs proof of work or a captcha, so that nobody uses the form to mail "
            "strangers."
        )
        raise _lacking(changed, "spam", found, "human_check_required", message)


def _lacking(changed: Collection[str], member: str, reply: Reply, code: str, message: str) -> ApiError:
    """Return the error at the change: at the answer that was turned on, or at the part that it still needs."""
    answers = ("reply", "confirmation") if reply.enabled else ("confirmation",)
    at = next((name for name in answers if name in changed), member)
    return invalid(at, code, message, has_subject=True)


def refuse_texts(reply: Reply, declared: Collection[str]) -> None:
    """Refuse texts with a wrong placeholder, in the subject and in the text, or too many. Raises ValidationFailed."""
    names: list[str] = []
    wrong: list[Detail] = []
    for place, text in ((SUBJECT, reply.subject), (TEXT, reply.text)):
        try:
            found = list(placeholders_in(text, declared))
            # A form without fields takes any values, but none of them can be trusted in a mail.
            refuse_undeclared_names(found, declared or {""})
        except TemplateRefused as refusal:
            wrong.append(Detail(place, refusal.code, str(refusal), has_subject=True))
        else:
            names += found
    if wrong:
        raise ValidationFailed(wrong)
    if len(names) > MAX_PLACEHOLDERS:
        message = gettext("At most %(most)s placeholders.") % {"most": MAX_PLACEHOLDERS}
        raise invalid(TEXT, "too_many", message, has_subject=True)


def _refuse_removed_fields(reply: Reply, declared: Collection[str]) -> None:
    """Refuse fields that lack one which the stored reply uses. Raises ValidationFailed."""
    try:
        refuse_texts(reply, declared)
    except ValidationFailed as failure:
        first = failure.details[0]
        text = gettext("%(problem)s The form's reply uses it. Change the reply first.") % {"problem": first.message}
        raise invalid("fields", first.code, text, has_subject=True) from None


def fill_reply(
    reply: Reply,
    *,
    fields: Sequence[Mapping[str, Any]],
    data: Mapping[str, str],
    others: Mapping[str, str],
    confirmed: str = "",
    may_link: bool = True,
) -> Filled:
    """
    Return the texts of a reply. `others`: the values of `form.name` and the like.

    `confirmed`: the address that the submitter has confirmed; then every declared field fills its placeholders.
    `may_link`: whether words of the owner may be links before that.
    """
    types = {field["name"]: field["type"] for field in fields}

    def value_of(name: str) -> str:
        if not name.startswith(DATA):
            return others.get(name, "")
        field = name.removeprefix(DATA)
        if field not in types or not (confirmed or types[field] in BOUNDED):
            return ""
        value = data.get(field, "")
        is_own = bool(confirmed) and value == confirmed  # a link to the reader, who knows it
        return value if is_own else shown_value(value, most=MAX_VALUE if confirmed else MAX_BOUNDED)

    subject, text = fill_text(reply.subject, value_of), fill_text(reply.text, value_of)
    is_cut = not (may_link or confirmed) and (_has_link(subject) or _has_link(text))
    if is_cut:  # of the filled text: a part of a link may be in the text, and the other one an option of a Select field
        subject, text = (_WORD.sub(lambda word: "" if _is_link(word[0]) else word[0], each) for each in (subject, text))
    return Filled(" ".join(subject.split()), text, is_cut)


def shown_value(value: str, *, most: int = MAX_VALUE) -> str:
    """Return a value as a mail to its submitter shows it: cut, and without the words that would become links."""
    kept = value[: 4 * most]  # enough to cut afterwards, and a bound on the work
    lines = [" ".join(word for word in line.split() if not _is_link(word)) for line in kept.splitlines()]
    return cut("\n".join(lines).strip(), most)


def _has_link(text: str) -> bool:
    return any(map(_is_link, text.split()))


def _is_link(word: str) -> bool:
    """Return whether a mail program would make a link of a word. An address of a mailbox is one, too."""
    return holds_web_address(word) or "mailto:" in word.lower() or "\\\\" in word


def name_for_submitters(form_name: str) -> str:
    """Return a form's name as its submitters see it: "" if it holds a web address, for a sentence without the name."""
    return name_for_strangers(form_name, "")[:SHOWN_OF_A_NAME]


def confirmation_lines(form_name: str, organization_name: str, address: str) -> list[str]:
    """
    Return the sentences that ask for confirmation, in the present language: the mail and the page show the same.

    `form_name`: of `name_for_submitters`.
    """
    names = {"form": form_name, "organization": organization_name, "address": address}
    if form_name:
        filled = gettext("Somebody filled in the form %(form)s of %(organization)s with this address: %(address)s")
    else:
        filled = gettext("Somebody filled in a form of %(organization)s with this address: %(address)s")
    return [
        filled % names,
        gettext("Confirm that it was you. Only then does %(organization)s receive it.") % names,
    ]
