"""The template of HTTP destinations: parsed first, filled afterwards."""

import json
from typing import Any

import pytest

from forms_app.texts.placeholders import TemplateRefused, refuse_undeclared_names
from webhooks.kinds.http_template import MOST_FILLED, fill, names_in, parse_template
from webhooks.kinds.submitted import Submitted

SUBMITTED = Submitted(
    "Jobs", "sub_1", "2026-11-23T00:00:00.000Z", {"name": 'A"} {{ form.name }}', "full name": "Ada"}, {}, ""
)

OF_OTHERS = "{% if data.name %} ${data.name} $data.name <%= data.name %> #{data.name} {data.name} {# x #}"


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{{ data.name }}", 'A"} {{ form.name }}'),  # a value is never read again
        ("{{data.full name}}!", "Ada!"),
        ("{{ form.name }} {{ submission.id }} {{ submission.createdAt }}", "Jobs sub_1 2026-11-23T00:00:00.000Z"),
        ('{{ data.none | default: "a | b" }}', "a | b"),
        ('{{ data.none | default: "abcdef" | truncate: 3 }}', "ab…"),
        ("{{ data.none }}", ""),
        ("no braces {", "no braces {"),
        (f"{OF_OTHERS} {{{{ data.full name }}}}", f"{OF_OTHERS} Ada"),
    ],
)
def test_fill__string__holds_the_value_and_nothing_else(template: str, filled: str) -> None:
    value = {"a": [template, 1, None, True], "b": {"c": template}}
    expected = {"a": [filled, 1, None, True], "b": {"c": filled}}
    assert fill(parse_template(json.dumps(value)), SUBMITTED) == expected
    assert fill(parse_template(value), SUBMITTED) == expected


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("template", "code"),
    [
        ("{{ data.name }}", "invalid_template"),
        ('{"a": {{ data.name }}}', "invalid_template"),
        ('{"a": NaN}', "invalid_template"),
        ('{"a": 1e999}', "invalid_template"),
        ('{"a": ' + "9" * 5000 + "}", "invalid_template"),
        ("[" * 5000, "invalid_template"),
        (5, "invalid_template"),
        (["{{ data.name | upper }}"], "invalid_placeholder"),
        (["{{ data.name | truncate: 0 }}"], "invalid_placeholder"),
        (["{{ data.__class__.x }} {% if %} {{"], "invalid_placeholder"),
        (["{{ submission.data }}"], "invalid_placeholder"),
        (["{{ '7'*7 }}"], "invalid_placeholder"),
        ([{"{{ data.name }}": 1}], "invalid_placeholder"),
        (nested(17), "template_too_deep"),
        (["x" * 17_000], "template_too_long"),
        (["{{ form.name }}" * 201], "template_too_long"),
    ],
)
def test_parse__template_that_is_wrong__is_refused(template: Any, code: str) -> None:
    with pytest.raises(TemplateRefused) as refused:
        parse_template(template)
    assert refused.value.code == code


@pytest.mark.parametrize("template", ['{"a": "\\ud800\\u0000b"}', {"a": "\ud800\0b"}])
def test_parse__text_that_cannot_be_stored_or_sent__is_cleaned(template: Any) -> None:
    assert fill(parse_template(template), SUBMITTED) == {"a": "\ufffdb"}


def test_undeclared_name__counts_only_for_a_form_that_declares_some() -> None:
    template = parse_template(["{{ data.name }}"])
    refuse_undeclared_names(list(names_in(template)), [])
    refuse_undeclared_names(list(names_in(template)), ["name"])
    with pytest.raises(TemplateRefused, match="The form has no field “name”"):
        refuse_undeclared_names(list(names_in(template)), ["email"])


def test_fill__long_values__are_bounded_together() -> None:
    long = Submitted("F", "sub_1", "", {"a": "x" * 200_000}, {}, "")
    filled = fill(parse_template(["{{ data.a }}"] * 100), long)
    assert sum(map(len, filled)) == MOST_FILLED
