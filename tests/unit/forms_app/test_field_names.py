"""Names of fields: given, made from labels, never twice and never a control field's (`forms_app.field_definitions`)."""

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forms_app.field_definitions import CAPTCHA_FIELDS, CONTROL_FIELDS, MAX_NAME, fill_in_names, first_duplicate

RESERVED = CONTROL_FIELDS | CAPTCHA_FIELDS
LABELS = st.text(min_size=1, max_size=200) | st.sampled_from([*RESERVED, "Name", "name", "field_1", "field_2", "!"])
FIELDS = st.lists(
    st.fixed_dictionaries(
        {"label": LABELS}, optional={"name": st.sampled_from(["name", "field_1", "field_3", "n" * 128])}
    ),
    max_size=20,
    unique_by=lambda field: field.get("name") or object(),
)


@pytest.mark.slow
@settings(deadline=None)
@given(FIELDS)
@example([{"label": "Altcha"}, {"label": "h-captcha-response"}])
@example([{"label": "L" * 200}, {"label": "L" * 200}])
@example([{"label": "!"}] * 200)
def test_fill_in__any_labels__give_every_field_a_name_of_its_own(fields: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(fields)

    named = fill_in_names(fields)

    names = [field["name"] for field in named]
    assert len(set(names)) == len(names) == len(fields)
    assert all(0 < len(name) <= MAX_NAME for name in names)
    assert not RESERVED & set(names)
    assert [field["label"] for field in named] == [field["label"] for field in fields]
    assert all(given["name"] == made["name"] for given, made in zip(fields, named, strict=True) if "name" in given)
    assert fields == before


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["Your Name"], ["your-name"]),
        (["  E-Mail  "], ["e-mail"]),
        (["Stra\u00dfe", "Caf\u00e9"], ["strae", "cafe"]),
        (["\u540d\u524d"], ["field_1"]),
        (["a", "A", "a!"], ["a", "field_2", "field_3"]),
        (["field_2", "?"], ["field_2", "field_3"]),
        (["field_3", "?", "?"], ["field_3", "field_2", "field_4"]),
    ],
)
def test_fill_in__labels_alone__give_slugs_or_numbers(labels: list[str], names: list[str]) -> None:
    assert [field["name"] for field in fill_in_names([{"label": label} for label in labels])] == names


def test_fill_in__given_names__win_wherever_they_stand() -> None:
    fields = [{"label": "Name"}, {"label": "?"}, {"label": "B", "name": "name"}, {"label": "C", "name": "field_2"}]

    assert [field["name"] for field in fill_in_names(fields)] == ["field_1", "field_3", "name", "field_2"]


def test_fill_in__other_values__stay_as_they_are() -> None:
    field = {"label": "Size", "type": "Select", "required": True, "options": ["S"], "placeholder": "Choose"}

    assert fill_in_names([field]) == [{"name": "size", **field}]


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcde")))
def test_first_duplicate__of_any_names__is_one_that_stands_twice(names: list[str]) -> None:
    found = first_duplicate(names)

    assert (found is None) == (len(set(names)) == len(names))
    assert found is None or names.count(found) > 1
