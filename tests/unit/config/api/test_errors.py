"""Details of a `validation_error`: the field's name is written once, by the envelope (`config.api.errors`)."""

import pytest

from config.api.errors import Conflict, Detail, ValidationFailed, invalid


@pytest.mark.parametrize(
    ("detail", "sentence"),
    [
        (Detail("url", "refused", "This address is private."), "url: This address is private."),
        (Detail("fields.0.name", "required", "This field is required."), "fields.0.name: This field is required."),
        (Detail("f", "required", "Your name is required.", has_subject=True), "Your name is required."),
        (Detail("", "too_many", "Too many fields."), "Too many fields."),
    ],
)
def test_detail__on_the_wire__names_its_field_unless_it_has_a_subject(detail: Detail, sentence: str) -> None:
    failure = ValidationFailed([detail, Detail("other", "blank", "Must not be empty.")])

    assert failure.body() == {
        "success": False,
        "error": "validation_error",
        "message": sentence,
        "details": [
            {"field": detail.field, "code": detail.code, "message": sentence},
            {"field": "other", "code": "blank", "message": "other: Must not be empty."},
        ],
    }


def test_field_message__of_a_wrong_value__leaves_the_field_out() -> None:
    assert invalid("url", "refused", "This address is private.").field_message == "This address is private."


def test_field_message__of_an_error_without_details__is_its_message() -> None:
    assert Conflict("This webhook exists already.").field_message == "This webhook exists already."
