import pytest
from django.core.exceptions import ValidationError

from dashboard.accounts.password_strength import ADVICE, StrengthValidator, refuse_weak
from keys.models import User

ACME = ["Analytical Engines GmbH", "ada.lovelace@example.com"]


def refusal(password: str, texts: list[str] | None = None) -> str:
    try:
        refuse_weak(password, ACME if texts is None else texts)
    except ValidationError as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize(
    "password",
    [
        "Summer2026!",
        "letmein12345",
        "Winter2025!!",
        "Monday2026!",
        "p@55w0rd!!",
        "Passw0rd2026!",
        "qwertzuiop",
        "1234567890",
        "iloveyou2",
        "aaaaaaaaaaaa",
        "abcabcabcabc",
        "19911212199112",
        "Lovelace1815",
        "ada.lovelace!",
        "a" * 200,
    ],
)
def test_password__that_is_guessed_soon__is_refused_with_advice(password: str) -> None:
    message = refusal(password)
    assert message.startswith("This password is too easy to guess. ")
    assert message.endswith(str(ADVICE))


@pytest.mark.parametrize(
    "password",
    ["Fieldpost2026", "fieldp0st!2026", "AnalyticalEngines1", "adalovelace99"],
)
def test_password__of_names_that_belong_to_the_person__is_refused_and_says_so(password: str) -> None:
    assert "It contains your name or address" in refusal(password)


@pytest.mark.parametrize(
    "password",
    [
        "a long and quiet password",
        "correct horse battery staple",
        "xK9mQ2pLw7",
        "vier kleine Hasen am Zaun",
        "ßäöü 日本語 のパス",
    ],
)
def test_password__that_takes_long_to_guess__is_accepted(password: str) -> None:
    assert refusal(password) == ""


def test_password__of_another_persons_words__is_judged_without_them() -> None:
    assert refusal("quixotic zephyr", ["Quixotic Zephyr"]) != ""
    assert refusal("quixotic zephyr", []) == ""


@pytest.mark.parametrize("texts", [["", "@", "…"], ["word " * 5_000], ["@({[<|!$+%" * 500]])
def test_password__with_strange_words__is_still_judged(texts: list[str]) -> None:
    assert refusal("a long and quiet password", texts) == ""
    assert refusal("Summer2026!", texts) != ""


def test_validator__user_that_is_not_stored_yet__is_judged_by_address_and_name() -> None:
    user = User(email="grace.hopper@example.com", name="Grace Hopper")
    with pytest.raises(ValidationError, match="your name"):
        StrengthValidator().validate("gracehopper1", user)
    with pytest.raises(ValidationError):
        StrengthValidator().validate("Summer2026!")
