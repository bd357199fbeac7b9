"""How inputs are rendered: Django's forms, the rows of the builder and allauth's elements share one partial."""

import datetime as dt
import re

import pytest
from django import forms
from django.template import Context, Origin, Template
from django.utils import translation

from dashboard.html_forms.day_input import DayInput
from dashboard.html_forms.fields import FieldRow
from keys.choices import within_sentence

ROW = FieldRow("k0", label='Size "<b>"', type="Select", required=True, options="S\nM", errors={"label": "Too long."})
ELEMENT = """{% load allauth %}{% element field type=kind name="a" id="a" value="v" errors=errors %}
{% slot label %}Address{% endslot %}{% slot value %}text{% endslot %}{% slot help_text %}Where we write.{% endslot %}
{% endelement %}"""
BUTTON = '{% load allauth %}{% element button type="submit" tags=tags href=href %}Go{% endelement %}'


def markup(html: str) -> str:
    """Return HTML with one space for white space, and none next to tags or inside quotes."""
    return re.sub(r"\s*([<>])\s*", r"\1", " ".join(html.split())).replace('=" ', '="').replace(' "', '"')


def element(source: str, **context: object) -> str:
    return markup(Template(source, Origin("a.html", template_name="a.html")).render(Context(context)))


def test_row__rendered__has_names_of_its_key_its_values_and_its_errors() -> None:
    label = markup(ROW.inputs["label"].as_field_group())
    assert label.startswith('<div class="field"><label class="form-label" for="label-k0">Label</label><input')
    assert 'value="Size &quot;&lt;b&gt;&quot;" maxlength="200"' in label
    assert 'aria-invalid="true" aria-describedby="label-k0_error"' in label
    assert label.endswith('<ul class="errorlist" id="label-k0_error"><li>Too long.</li></ul></div>')


def test_row__rendered__ticks_and_chooses_and_ties_help_to_its_input() -> None:
    required = markup(ROW.inputs["required"].as_field_group())
    assert 'name="required-k0" class="form-check-input" id="required-k0" checked>' in required
    assert required.endswith('<label class="form-check-label" for="required-k0">Required</label></div>')
    assert '<option value="Select" selected>' in markup(ROW.inputs["type"].as_field_group())
    name = markup(ROW.inputs["name"].as_field_group())
    assert 'aria-describedby="name-k0_helptext"' in name
    assert '<div class="form-text" id="name-k0_helptext">Leave empty' in name


def test_group__rendered__is_a_fieldset_that_its_errors_describe() -> None:
    class Choice(forms.Form):
        color = forms.ChoiceField(choices=[("r", "Red")], widget=forms.RadioSelect, help_text="One of them.")

    group = markup(str(Choice({})))
    assert '<fieldset class="field" aria-describedby="id_color_helptext id_color_error">' in group
    assert '<label class="form-check-label" for="id_color_0">Red</label>' in group


@pytest.mark.parametrize(
    ("kind", "control"),
    [
        ("email", '<input class="form-control" type="email" value="v" name="a" id="a">'),
        ("textarea", '<textarea class="form-control" name="a" id="a">text</textarea>'),
        ("checkbox", '<input class="form-check-input" type="checkbox" value="v" name="a" id="a">'),
    ],
)
def test_field_of_allauth__rendered__has_label_control_help_and_errors(kind: str, control: str) -> None:
    field = element(ELEMENT, kind=kind, errors="No such address.")
    assert control in field
    assert '<label class="form-' in field
    assert 'for="a">Address</label>' in field
    assert '<div class="form-text" id="a_helptext">Where we write.</div>No such address.' in field


@pytest.mark.parametrize(
    ("tags", "href", "shown"),
    [
        ("", "", '<button class="btn btn-primary" type="submit">Go</button>'),
        ("delete", "", '<button class="btn btn-quiet dangerous" type="submit">Go</button>'),
        ("cancel", "", '<button class="btn btn-quiet" type="submit">Go</button>'),
        ("danger", "/x", '<a class="btn btn-quiet dangerous" href="/x">Go</a>'),
    ],
)
def test_button_of_allauth__rendered__looks_as_its_tags_say(tags: str, href: str, shown: str) -> None:
    assert element(BUTTON, tags=tags, href=href) == shown


def test_day__of_a_reader_of_german__is_written_as_browsers_take_it() -> None:
    with translation.override("de"):
        assert 'value="2026-01-31"' in DayInput().render("day", dt.date(2026, 1, 31))


@pytest.mark.parametrize(("language", "shown"), [("en", "owner"), ("de", "Owner"), (None, "owner")])
def test_label_within_a_sentence__keeps_its_capital_outside_english(language: str | None, shown: str) -> None:
    with translation.override(language):
        assert within_sentence("Owner") == shown
