"""The form builder over HTTP, without scripts."""

import html
import re

import pytest

from tests.dashboard.forms.every_type import ALL_TYPES, form_of
from tests.services.client import Answer
from tests.support.browser import Browser, markup_of, place, text_of
from tests.support.tenants import Tenant, text_field

pytestmark = pytest.mark.quick


class Builder:
    """The builder without scripts: all inputs of the page are sent with the pressed button."""

    def __init__(self, browser: Browser, path: str) -> None:
        self.browser, self.path = browser, path
        self.page = browser.get(path)

    def values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        form = re.search(r'<form[^>]*id="builder-form".*?</form>', self.page.text, re.DOTALL)
        assert form
        for tag in re.findall(r"<input[^>]*>", form[0]):
            name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
            if name and ('type="checkbox"' not in tag or " checked" in tag):
                unset = "on" if 'type="checkbox"' in tag else ""  # as browsers do without a `value`
                found.setdefault(html.unescape(name[1]), []).append(html.unescape(value[1]) if value else unset)
        for name, chosen in re.findall(
            r'<select[^>]*name="(type-[^"]*)".*?<option value="([^"]*)" selected', form[0], re.DOTALL
        ):
            found[name] = [chosen]
        for name, text in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>(.*?)</textarea>', form[0], re.DOTALL):
            found[name] = [html.unescape(text)]
        return found

    def press(self, do: str, **changes: str) -> Answer:
        values = {name: value for name, value in self.values().items() if name != "csrfmiddlewaretoken"}
        merged = {**values, **{name: [value] for name, value in changes.items()}, "do": [do]}
        self.page = self.browser.post(self.path, form=self.path, **merged)
        return self.page

    def keys(self) -> list[str]:
        return self.values().get("row", [])


def test_builder__every_type_opened_and_saved__changes_nothing(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=ALL_TYPES)
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    assert builder.press("save").status == 302
    assert form_of(tenant, form_id).fields == [dict(field) for field in ALL_TYPES]


def test_builder__without_scripts__adds_moves_edits_removes_and_saves(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field(name, required=False) for name in ("one", "two")])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press("add", **{"new-type": "Select"})
    added = builder.keys()[2]
    builder.press(f"up:{added}", **{f"label-{added}": "Size <b>", f"options-{added}": "S\r\n\r\n M "})
    first = builder.keys()[0]
    builder.press(f"remove:{first}")
    assert form_of(tenant, form_id).fields[0]["label"] == "One", "nothing is saved before Save"
    builder.press("save", **{f"required-{added}": "on"})
    assert form_of(tenant, form_id).fields == [
        {"name": "size-b", "label": "Size <b>", "type": "Select", "required": True, "options": ["S", "M"]},
        {"name": "two", "label": "Two", "type": "Text", "required": False},
    ]


def test_builder__removed_field__keeps_its_place_and_values_until_it_is_saved(tenant: Tenant, member: Browser) -> None:
    fields = [text_field("size", type="Select", options=["S", "M"], required=True, placeholder="Choose")]
    form_id = tenant.form(fields=[*fields, text_field("two", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    first, second = builder.keys()
    page = text_of(builder.press(f"remove:{first}"))
    assert "Size removed. 1 fields left." in page
    assert "Removed “Size”. Undo" in page
    builder.press(f"up:{second}")
    assert builder.keys() == [first, second], "the only field that is left"
    builder.press(f"restore:{first}")
    builder.press("save")
    assert form_of(tenant, form_id).fields == [*fields, text_field("two", required=False)]
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press(f"remove:{first}")
    assert builder.press("save").status == 302
    assert form_of(tenant, form_id).fields == [text_field("two", required=False)]


def test_builder__duplicated_field__follows_it_under_a_name_of_its_own(tenant: Tenant, member: Browser) -> None:
    size = text_field("size", type="Select", options=["S", "M"], required=True)
    form_id = tenant.form(fields=[size, text_field("two", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press(f"copy:{builder.keys()[0]}")
    builder.press("save")
    copy = {**size, "name": "size-copy", "label": "Size copy"}
    assert form_of(tenant, form_id).fields == [size, copy, text_field("two", required=False)]


def test_builder__form_with_the_most_fields__can_be_saved(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field(f"field_{n}", required=True) for n in range(200)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    assert builder.press("save", **{f"label-{builder.keys()[199]}": "Last"}).status == 302
    assert form_of(tenant, form_id).fields[199]["label"] == "Last"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"label": ""}, "blank"),
        ({"label": "x" * 201}, "200"),
        ({"type": "Nonsense"}, "not a field type"),
        ({"type": "Select", "options": ""}, "list"),
        ({"name": "_gotcha"}, "control field"),
        ({"name": "two"}, "Two fields have the name two"),
    ],
)
def test_builder__mistakes__are_told_and_nothing_entered_is_lost(
    tenant: Tenant, member: Browser, changes: dict[str, str], words: str
) -> None:
    form_id = tenant.form(fields=[text_field(name, required=False) for name in ("one", "two")])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    first, second = builder.keys()
    entered = {f"{name}-{first}": value for name, value in changes.items()} | {f"label-{second}": "Kept anyway"}
    answer = builder.press("save", **entered)
    assert answer.status == 400
    assert words in text_of(answer)
    assert builder.values()[f"label-{second}"] == ["Kept anyway"]
    assert form_of(tenant, form_id).fields[1]["label"] == "Two"


def test_builder__saved_by_somebody_else_meanwhile__asks_before_it_overwrites(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field("one", required=False)])
    path = place(tenant, f"forms/{form_id}/build")
    mine, theirs = Builder(member, path), Builder(member, path)
    theirs.press("save", **{f"label-{theirs.keys()[0]}": "Theirs"})
    refused = mine.press("save", **{f"label-{mine.keys()[0]}": "Mine"})
    assert (refused.status, "Another user saved this form" in refused.text) == (409, True)
    assert form_of(tenant, form_id).fields[0]["label"] == "Theirs"
    assert mine.press("save").status == 302
    assert form_of(tenant, form_id).fields[0]["label"] == "Mine"


def test_builder__published_with_unsaved_fields__publishes_those(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(published=False, fields=[text_field("one", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    assert re.search(r'<button [^>]*form="builder-form" name="do" value="publish"', markup_of(builder.page))
    done = builder.press("publish", **{f"label-{builder.keys()[0]}": "Two"})
    assert "Saved and published." in text_of(member.follow(done))
    found = form_of(tenant, form_id)
    assert (found.status, found.fields[0]["label"]) == ("published", "Two")


def test_builder__published_with_a_mistake__publishes_nothing_and_keeps_what_was_typed(
    tenant: Tenant, member: Browser
) -> None:
    form_id = tenant.form(published=False, fields=[text_field(name, required=False) for name in ("one", "two")])
    path = place(tenant, f"forms/{form_id}/build")
    builder, other = Builder(member, path), Builder(member, path)
    first, second = builder.keys()
    refused = builder.press("publish", **{f"label-{first}": "", f"label-{second}": "Kept"})
    assert (refused.status, "Not published yet: correct" in refused.text) == (400, True)
    assert builder.values()[f"label-{second}"] == ["Kept"]
    other.press("save", **{f"label-{first}": "Theirs"})
    meanwhile = builder.press("publish", **{f"label-{first}": "Mine"})
    assert (meanwhile.status, "Another user saved this form" in meanwhile.text) == (409, True)
    found = form_of(tenant, form_id)
    assert (found.status, [field["label"] for field in found.fields]) == ("draft", ["Theirs", "Two"])


def test_builder__required_field_on_the_default_form__is_refused(tenant: Tenant, member: Browser) -> None:
    builder = Builder(member, place(tenant, f"forms/{tenant.default_form_id}/build"))
    builder.press("add", **{"new-type": "Text"})
    answer = builder.press("save", **{f"required-{builder.keys()[0]}": "on"})
    assert "none of its fields can be required" in text_of(answer)
