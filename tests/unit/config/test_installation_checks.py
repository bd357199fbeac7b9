"""Whose installation it is: settings that would open it by mistake, who has its token, and what an upgrade says."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.checks import CheckMessage
from pytest_django import Settings

from config.checks import check_choices, check_open_sign_up
from dashboard.installation import is_setup_token, setup_token
from keys.models import User

migration = import_module("keys.migrations.0015_own_installation")


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


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sign_up", "people", "lines"), [("invited", 1, 1), ("closed", 2, 1), ("open", 1, 0), ("invited", 0, 0)]
)
def test_upgrade__that_closes_sign_up_for_people__says_so(
    settings: Settings, caplog: pytest.LogCaptureFixture, sign_up: str, people: int, lines: int
) -> None:
    """A new installation, which has nobody, is not upgraded, and one that stays open is not closed."""
    settings.SIGN_UP = sign_up
    User.objects.all().delete()  # the database of a whole run has a first person
    for number in range(people):
        User.objects.create_user(f"{number}@example.com")
    migration.say_that_sign_up_is_closed(apps, None)
    assert [record.name for record in caplog.records] == ["keys"] * lines


def test_setup_token__of_another_secret_key__is_not_the_token(settings: Settings) -> None:
    settings.SECRET_KEY = "a" * 50
    token = setup_token()
    assert is_setup_token(token)
    settings.SECRET_KEY = "b" * 50
    assert not is_setup_token(token)
