"""Pasted HTML as field definitions: names, labels, types, and reasons for inputs that are left out."""

from typing import Any

import pytest

from dashboard.pages.new_forms.found_fields import FoundFields, fields_from
from dashboard.pages.new_forms.pasted_html import MAX_BYTES, read_html

TEXT, SELECT, CHECKBOX = "Text", "Select", "Checkbox"


def found_in(html: str, **options: Any) -> FoundFields:
    return fields_from(read_html(html), **options)


def field(name: str, label: str, kind: str = TEXT, *, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"name": name, "label": label, "type": kind, "required": required, **more}


@pytest.mark.parametrize(
    ("html", "fields"),
    [
        ("<label for=a>Your name: *</label><input id=a name=n required>", [field("n", "Your name", required=True)]),
        ("<label>Mail <b>address</b><input type=EMAIL name=n></label>", [field("n", "Mail address", "Email")]),
        ("<label><textarea name=n>typed</textarea> Note</label>", [field("n", "Note", "Textarea")]),
        ("<input name=n aria-label=A placeholder=B title=C>", [field("n", "A", placeholder="B")]),
        ("<input name=n placeholder=B>", [field("n", "B")]),
        ("<input name=n placeholder=you@b.example>", [field("n", "N", placeholder="you@b.example")]),
        ("<input name=n placeholder='+1 555'>", [field("n", "N", placeholder="+1 555")]),
        ("<input name='user[firstName]'>", [field("user[firstName]", "User first name")]),
        ("<input id=only_id aria-required=true>", [field("only_id", "Only id", required=True)]),
        (
            "<input type=tel name=a><input type=url name=b><input type=range name=c><input type=date name=d>",
            [field("a", "A", "Phone"), field("b", "B", "URL"), field("c", "C", "Number"), field("d", "D", "Date")],
        ),
        (
            "<select name=n><option value=''>Pick one<option value=1>One<option>Two<option>Two</select>",
            [field("n", "N", SELECT, options=["1", "Two"], placeholder="Pick one")],
        ),
        (
            "<select name=n multiple><option>A<optgroup><option>B</optgroup></select>",
            [field("n", "N", CHECKBOX, options=["A", "B"])],
        ),
        (
            "<fieldset><legend>Size</legend><label><input type=radio name=n value=s>Small</label>"
            "<label><input type=radio name=n value=l required>Large</label></fieldset>",
            [field("n", "Size", SELECT, required=True, options=["s", "l"])],
        ),
        (
            "<fieldset><legend>All</legend><input type=checkbox name='t[]' value=a><input type=checkbox name='t[]' "
            "value=b><input name=x></fieldset>",
            [field("t[]", "T", CHECKBOX, options=["a", "b"]), field("x", "X")],
        ),
        ("<label><input type=checkbox name=n value=1> I agree</label>", [field("n", "I agree", CHECKBOX)]),
        ("<input type=hidden name=n value=x>", [field("n", "N", "Hidden")]),
        (
            "<form role=search><input name=q><input name=q2><input name=q3></form><form id=f><input name=a></form>"
            "<input name=b form=f><form><input name=news></form>",
            [field("a", "A"), field("b", "B")],
        ),
        ("<script><input name=a></script><!-- <input name=b> --><p><input name=c", []),
        ("<?xml version='1.0' encoding='utf-16'?><meta charset=utf-16><input name=gr\0öße>", [field("größe", "Größe")]),
    ],
)
def test_html__of_any_kind__becomes_these_fields(html: str, fields: list[dict[str, Any]]) -> None:
    found = found_in(html)
    assert (found.fields, found.left_out) == (fields, [])


@pytest.mark.parametrize(
    ("html", "name", "reason"),
    [
        ("<input type=password name=n>", "n", "A form must not ask for passwords."),
        ("<input name=n disabled>", "n", "Disabled inputs are not sent."),
        ("<input name=n autocomplete=cc-number>", "n", "Card numbers and one-time codes are never sent."),
        ("<input name=_gotcha>", "_gotcha", "A control field: it is used, and not stored."),
        ("<input name=h-captcha-response>", "h-captcha-response", "A control field: it is used, and not stored."),
        ("<input name=csrfmiddlewaretoken>", "csrfmiddlewaretoken", "A token of a framework."),
        ("<input aria-label=Nameless>", "Nameless", "Without a name, browsers do not send it."),
        ("<input name=taken>", "taken", "The form has a field with this name."),
        ("<sl-input name=n></sl-input>", "<sl-input> n", "A custom element: add its field by hand."),
        ("<select name=n></select>", "n", "options: A Select needs a list of options."),
        (f"<input name={'n' * 129}>", "n" * 128, "name: Ensure this field has no more than 128 characters."),
    ],
)
def test_input__that_becomes_no_field__is_named_with_the_reason(html: str, name: str, reason: str) -> None:
    found = found_in(html, taken={"taken"})
    assert (found.fields, [(one.name, one.text) for one in found.left_out]) == ([], [(name, reason)])


@pytest.mark.parametrize(
    ("html", "remark"),
    [
        ("<input type=barcode name=n>", "Text, because there is no field type for “barcode”."),
        (f"<select name=n>{'<option>{}' * 201}</select>".format(*range(201)), "Text, because it has 201 options"),
        ("<select name=n><option value=1>One</select>", "Its options are the values that your page sends"),
    ],
)
def test_input__that_becomes_another_kind__is_remarked_on(html: str, remark: str) -> None:
    found = found_in(html)
    assert [one.name for one in found.remarks] == ["N"]
    assert found.remarks[0].text.startswith(remark)
    assert len(found.fields) == 1


@pytest.mark.parametrize(
    "part",
    [
        *(
            "<div>",
            "<label>",
            "<form>",
            "<fieldset>",
            "<svg><math>",
            "<!--",
            "<",
            "&",
            "<a ",
            "<a b='",
            "</",
            "<![CDATA[",
        ),
        *(
            "<input name=a>",
            "<option>",
            "<select name=s>",
            "<label>a<input name=a id=b>",
            "<x-y name=a>",
            "\0",
            "\ud800",
        ),
        "<!DOCTYPE x [<!ENTITY a 'b'>]>&a;",
    ],
)
def test_html__hostile_and_as_large_as_allowed__is_read_to_a_bound(part: str) -> None:
    page = read_html(part * (MAX_BYTES // len(part)))
    assert len(page.inputs) <= 2000
    assert len(fields_from(page).fields) <= 1


def test_html__nested_too_deep__is_read_to_its_bound_and_says_so() -> None:
    page = read_html(f"<input name=a>{'<div>' * 300}<input name=b>")
    assert ([one.name for one in page.inputs], page.is_cut) == (["a"], True)


def test_html__with_more_fields_than_a_form_may_have__says_which_are_left_out() -> None:
    page = read_html("".join(f"<input name=n{number}>" for number in range(300)))
    found = fields_from(page, taken=["one", "two"])
    assert (len(found.fields), len(found.left_out), found.more_left_out) == (198, 102, 52)
    assert found.left_out[0].text == "A form has at most 200 fields."
