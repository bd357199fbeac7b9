"""Advice on refused submissions: the gate that refused and the exact fix (`dashboard.refusal_advice`)."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.base.times import now
from dashboard.refusal_advice import ADVISERS, FIXES, Advice, Gate, advise
from forms_app.field_kinds import KINDS
from forms_app.models import Form
from keys.models import AccessKey, Organization
from keys.plans import Plan
from submissions.models import Refusal

SHOP = "https://shop.example"
PUBLISHED, DRAFT, ARCHIVED = Form.Status.PUBLISHED, Form.Status.DRAFT, Form.Status.ARCHIVED


def form(status: str = PUBLISHED, origins: tuple[str, ...] = ("https://other.example",), name: str = "Contact") -> Form:
    return Form(name=name, status=status, allowed_origins=list(origins))


def key(**values: Any) -> AccessKey:
    return AccessKey(name="Site", hint="fp_…abcd", **values)


def advice(code: str, detail_code: str = "", **values: Any) -> Advice:
    return advise(Refusal(organization=Organization(plan=Plan.PRO), code=code, detail_code=detail_code, **values))


def said(code: str, detail_code: str = "", **values: Any) -> tuple[str, str, str]:
    found = advice(code, detail_code, **values)
    return str(found.gate.label), found.title, found.fix


def test_origin__off_the_list__is_to_be_added() -> None:
    found = advice("origin_not_allowed", origin=SHOP, form=form())

    assert found == Advice(
        Gate.ORIGIN,
        "https://shop.example is not among the allowed origins",
        "Add https://shop.example to the allowed origins of “Contact”, if that page is yours.",
        add_origin=SHOP,
    )


@pytest.mark.parametrize(
    ("origin", "detail_code", "title", "words"),
    [
        ("", "", "The request has no origin", "“Contact” only accepts submissions from its allowed"),
        ("null", "", "The page has the origin “null”", "files opened from disk"),
        ("", "many", "Many origins that are not allowed", "followed 500 other kinds"),
        ("file://", "", "file:// is not among the allowed origins", "Only http and https sites can be allowed"),
        (
            "chrome-extension://a",
            "",
            "chrome-extension://a is not among the allowed origins",
            "Only http and https sites",
        ),
        ("https://*.com", "", "https://*.com is not among the allowed origins", "Only http and https sites"),
        (
            "https://a.example/x",
            "",
            "https://a.example/x is not among the allowed origins",
            "Only http and https sites",
        ),
    ],
)
def test_origin__that_no_list_can_allow__has_another_fix(origin: str, detail_code: str, title: str, words: str) -> None:
    found = advice("origin_not_allowed", detail_code, origin=origin, form=form())

    assert (found.gate, found.title, words in found.fix) == (Gate.ORIGIN, title, True)
    assert found.add_origin == ""


@pytest.mark.parametrize("origins", [(SHOP,), ("https://*.example",), ()], ids=str)
def test_origin__allowed_by_now__leaves_nothing_to_do(origins: tuple[str, ...]) -> None:
    found = advice("origin_not_allowed", origin=SHOP, form=form(origins=origins))

    assert (found.fix, found.add_origin) == ("It is allowed now: there is nothing to do.", "")


YESTERDAY = now().date() - dt.timedelta(days=1)
KEYS: list[tuple[str, AccessKey | None, str, str]] = [
    ("missing", None, "The access key is missing", "Send a key in the header x-access-key."),
    ("misspelt", None, "The access key is misspelled", "It starts with fp_."),
    ("unknown", None, "The access key does not exist", "It was regenerated, or"),
    (
        "unknown",
        key(revoked_at=dt.datetime(2026, 2, 3, tzinfo=dt.UTC)),
        "The key “Site” is revoked",
        "The key fp_…abcd was revoked on 2026-02-03. Replace it with a working key.",
    ),
    ("unknown", key(expires_on=YESTERDAY), "The key “Site” has expired", f"The last day of fp_…abcd was {YESTERDAY}."),
    ("unknown", key(), "The key “Site” did not work then", "It works now"),
]


@pytest.mark.parametrize(("kind", "shown", "title", "words"), KEYS, ids=[case[2] for case in KEYS])
def test_key__missing_misspelled_unknown_or_ended__has_its_own_advice(
    kind: str, shown: AccessKey | None, title: str, words: str
) -> None:
    gate, shown_title, fix = said("invalid_access_key", kind, access_key=shown, form=form())

    assert (gate, shown_title, words in fix) == ("Key", title, True)


def test_form_of_another_organization__has_its_own_advice() -> None:
    assert said("unauthorized")[:2] == ("Form", "The form belongs to another organization")


def test_limits__burst_address_and_plan__have_their_own_advice(settings: Any) -> None:
    settings.BURST_PER_ADDRESS_AND_FORM, settings.BURST_PER_FORM = "7/m", "90/2h"

    assert "7 a minute from one address and 90 in 2h to one form" in said("rate_limited", "burst")[2]
    assert "One address can send 100 requests an hour" in said("rate_limited", "address")[2]
    assert "The plan includes 10,000 requests an hour." in said("rate_limited", "hour")[2]


@pytest.mark.parametrize(
    ("status", "title", "fix"),
    [
        (DRAFT, "“Contact” is a draft", "Publish “Contact”."),
        (ARCHIVED, "“Contact” is archived", "Archived forms accept no submissions. Create a form"),
        (PUBLISHED, "“Contact” was not published then", "It is published now: there is nothing to do."),
    ],
)
def test_state__of_the_form_now__decides_the_fix(status: str, title: str, fix: str) -> None:
    gate, shown_title, advised = said("form_not_published", form=form(status))

    assert (gate, shown_title, advised.startswith(fix)) == ("State", title, True)


# code, detail's code, other columns -> gate, title, words of the fix
OTHERS: list[tuple[str, str, dict[str, Any], str, str, str]] = [
    ("payload_too_large", "", {}, "Size", "The body is too large", "Send at most 256 KiB."),
    ("validation_error", "too_many", {}, "Size", "Too many fields", "Send at most 200 fields."),
    (
        "validation_error",
        "too_long",
        {"field": "a"},
        "Size",
        "The value is too long",
        "at most 65,536 characters in “a”.",
    ),
    ("validation_error", "too_long", {}, "Size", "A value or the name of a field is too long", "128 in a name"),
    (
        "unsupported_media_type",
        "",
        {"access_key": key()},
        "Validation",
        "The body is not declared as JSON",
        "Send the body as JSON with the header Content-Type: application/json.",
    ),
    (
        "unsupported_media_type",
        "",
        {},
        "Validation",
        "The body is neither a form nor JSON",
        "the format of an HTML form",
    ),
    ("invalid_json", "", {"message": "No {x}."}, "Validation", "No {x}", "Send one JSON object"),
    ("empty_submission", "", {}, "Validation", "The submission has no values", "without a name attribute"),
    (
        "conflict",
        "",
        {},
        "Retry safety",
        "The same Idempotency-Key was sent with two different bodies",
        "for each submission",
    ),
    (
        "validation_error",
        "invalid",
        {"field": "Idempotency-Key", "message": "x"},
        "Retry safety",
        "The Idempotency-Key is malformed",
        "1 to 255 printable",
    ),
    (
        "validation_error",
        "captcha_required",
        {"field": "h-captcha-response", "form": form()},
        "Robot check",
        "The captcha was not solved",
        "turn off the captcha of “Contact”.",
    ),
    (
        "validation_error",
        "proof_of_work_required",
        {"field": "_altcha"},
        "Robot check",
        "The proof of work is missing, wrong or already used",
        "turn off the proof of work of the form.",
    ),
    (
        "validation_error",
        "too_fast",
        {"form": form()},
        "Robot check",
        "It was sent sooner after the page was opened than people type",
        "lower the minimum of “Contact”.",
    ),
    (
        "validation_error",
        "required",
        {"field": "email", "message": "E-mail is required."},
        "Validation",
        "E-mail is required",
        "Send a value for the field “email”. The name of the input must be exactly the same.",
    ),
    (
        "validation_error",
        "file_not_allowed",
        {"field": "{cv}", "message": "m"},
        "Validation",
        "m",
        "Remove the file input “{cv}”",
    ),
    (
        "validation_error",
        "invalid_id",
        {"field": "formId"},
        "Validation",
        "The value of “formId” is not valid",
        "It is frm_ and 26",
    ),
    (
        "validation_error",
        "new",
        {"field": "a"},
        "Validation",
        "The value of “a” is not valid",
        "Correct the value of “a”",
    ),
    ("new_code", "", {}, "Validation", "New code", "See the API documentation."),
]


@pytest.mark.parametrize(("code", "detail_code", "known", "gate", "title", "words"), OTHERS)
def test_advice__for_each_refusal__says_the_exact_thing(
    code: str, detail_code: str, known: dict[str, Any], gate: str, title: str, words: str
) -> None:
    found = said(code, detail_code, **known)

    assert (found[:2], words in found[2]) == ((gate, title), True), found


def test_advice__for_every_type_of_field__has_words_of_its_own() -> None:
    codes = {kind.check.code for kind in KINDS.values() if kind.check}

    assert {"required", "invalid_choice"} <= FIXES.keys()
    assert len({said("validation_error", code, field="a")[2] for code in codes}) == len(codes)
    assert said("validation_error", "invalid_email", field="a")[2] == (
        "Send a value of the type Email, such as ada@example.com, as “a”, or change the field's type in the form."
    )


TEXTS = st.text(max_size=20)


@given(
    code=st.sampled_from([*ADVISERS, "?"]),
    detail_code=st.sampled_from(["", "many", "burst", "captcha_required", "too_long", "?", *FIXES]),
    field=TEXTS,
    origin=TEXTS,
    message=TEXTS,
    status=st.sampled_from([None, PUBLISHED, DRAFT, ARCHIVED]),
    name=TEXTS,
)
def test_advice__for_any_stored_text__is_a_title_and_a_fix(
    code: str, detail_code: str, field: str, origin: str, message: str, status: str | None, name: str
) -> None:
    about = form(status, name=name) if status else None
    found = advice(code, detail_code, field=field, origin=origin, message=message, form=about)

    assert (found.title != "", found.fix != "") == (True, True)
