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


@pytest.mark.on_sqlite
def test_builder__file_field__has_its_limits_shown_and_saved(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field("name", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press("add", **{"new-type": "File"})
    added = builder.keys()[1]
    assert (builder.values()[f"max_files-{added}"], builder.values()[f"max_size-{added}"]) == (["1"], ["10"])
    entered = {"label": "CV", "accept": "pdf", "other_types": "PSD; .zip", "max_files": "2", "max_size": "1,5"}
    page = builder.press(f"up:{added}", **{f"{name}-{added}": value for name, value in entered.items()})
    assert "PDF, PSD or ZIP, at most 2 files, 1.5 MiB each" in text_of(page)
    builder.press(f"remove:{added}")
    builder.press(f"restore:{added}")
    builder.press(f"copy:{added}")
    assert builder.press("save").status == 302
    limits = {"accept": ["application/pdf", ".psd", ".zip"], "maxFiles": 2, "maxBytes": 1_572_864}
    cv = {"name": "cv", "label": "CV", "type": "File", "required": False, **limits}
    copy = {**cv, "name": "cv-copy", "label": "CV copy"}
    assert form_of(tenant, form_id).fields == [cv, copy, text_field("name", required=False)]


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"other_types": ".zip, .svg"}, "Files of the type .svg are always refused"),
        ({"other_types": "zip *.psd"}, "is not a type of file. Write an extension such as .pdf"),
        ({"other_types": "x, " * 31}, "no more than 30 elements"),
        ({"max_files": "0"}, "Enter a number of files from 1 to 10."),
        ({"max_files": "1.5"}, "Enter a number of files from 1 to 10."),
        ({"max_size": "25.1"}, "Enter a size of more than 0 and at most 25 MiB."),
        ({"max_size": "ten"}, "Enter a size of more than 0 and at most 25 MiB."),
        ({"max_size": "1e999"}, "Enter a size of more than 0 and at most 25 MiB."),
    ],
)
def test_builder__file_field_with_a_mistake__says_so_at_the_input(
    tenant: Tenant, member: Browser, changes: dict[str, str], words: str
) -> None:
    form_id = tenant.form(fields=[text_field("cv", type="File", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    (key,) = builder.keys()
    answer = builder.press("save", **{f"{name}-{key}": value for name, value in changes.items()})
    assert answer.status == 400
    (name, value), *_ = changes.items()
    marked = re.search(rf'<input[^>]*name="{name}-{key}"[^>]*aria-invalid="true"', markup_of(answer))
    assert (marked is not None, words in text_of(answer)) == (True, True)
    assert builder.values()[f"{name}-{key}"] == [value]


@pytest.mark.on_sqlite
def test_builder__file_field_made_a_text__has_no_limits_left(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field("cv", type="File", required=False, maxFiles=3, accept=[".pdf"])])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press("save", **{f"type-{builder.keys()[0]}": "Text"})
    assert form_of(tenant, form_id).fields == [text_field("cv", required=False)]


@pytest.mark.on_sqlite
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


@pytest.mark.on_sqlite
def test_builder__duplicated_field__follows_it_under_a_name_of_its_own(tenant: Tenant, member: Browser) -> None:
    size = text_field("size", type="Select", options=["S", "M"], required=True)
    form_id = tenant.form(fields=[size, text_field("two", required=False)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    builder.press(f"copy:{builder.keys()[0]}")
    builder.press("save")
    copy = {**size, "name": "size-copy", "label": "Size copy"}
    assert form_of(tenant, form_id).fields == [size, copy, text_field("two", required=False)]


@pytest.mark.on_sqlite
def test_builder__form_with_the_most_fields__can_be_saved(tenant: Tenant, member: Browser) -> None:
    form_id = tenant.form(fields=[text_field(f"field_{n}", required=True) for n in range(200)])
    builder = Builder(member, place(tenant, f"forms/{form_id}/build"))
    assert builder.press("save", **{f"label-{builder.keys()[199]}": "Last"}).status == 302
    assert form_of(tenant, form_id).fields[199]["label"] == "Last"


@pytest.mark.on_sqlite
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
    assert (refused.status, "saved in another tab or by another user" in refused.text) == (409, True)
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


@pytest.mark.on_sqlite
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
    assert (meanwhile.status, "saved in another tab or by another user" in meanwhile.text) == (409, True)
    found = form_of(tenant, form_id)
    assert (found.status, [field["label"] for field in found.fields]) == ("draft", ["Theirs", "Two"])


@pytest.mark.on_sqlite
def test_builder__required_field_on_the_default_form__is_refused(tenant: Tenant, member: Browser) -> None:
    builder = Builder(member, place(tenant, f"forms/{tenant.default_form_id}/build"))
    builder.press("add", **{"new-type": "Text"})
    answer = builder.press("save", **{f"required-{builder.keys()[0]}": "on"})
    assert "none of its fields can be required" in text_of(answer)
