"""Whose installation it is: settings that would open it by mistake are found."""

import pytest
from django.core.checks import CheckMessage
from pytest_django import Settings

from config.checks import check_choices, check_open_sign_up


def ids(messages: "list[CheckMessage]") -> list[str]:
    return [str(message.id) for message in messages]


@pytest.mark.parametrize("name", ["SIGN_UP", "DEFAULT_PLAN", "ORGANIZATIONS", "OIDC_DEFAULT_ROLE"])
def test_choice__misspelled__is_an_error_that_names_the_right_ones(settings: Settings, name: str) -> None:
    assert list(check_choices()) == []
    setattr(settings, name, "Opn")
    (error,) = check_choices()
    assert (error.id, error.msg) == ("fieldpost.E030", f"{name} has an unknown value.")
    assert " or " in str(error.hint)


@pytest.mark.parametrize(
    ("sign_up", "plan", "found"),
    [
        ("open", "enterprise", ["fieldpost.W008"]),
        ("open", "pro", ["fieldpost.W008"]),
        ("open", "free", []),
        ("invited", "enterprise", []),
        ("closed", "enterprise", []),
    ],
)
def test_open_sign_up__with_more_than_free__is_a_warning(
    settings: Settings, sign_up: str, plan: str, found: list[str]
) -> None:
    settings.SIGN_UP, settings.DEFAULT_PLAN = sign_up, plan
    assert ids(list(check_open_sign_up())) == found
