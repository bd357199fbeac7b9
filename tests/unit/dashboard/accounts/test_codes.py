"""The pages that ask for a code say how long it is valid, as allauth's settings do."""

import pytest
from allauth.account import app_settings
from django.template.loader import render_to_string
from django.test import RequestFactory


@pytest.mark.parametrize(
    ("page", "seconds"),
    [
        ("confirm_email_verification_code", app_settings.EMAIL_VERIFICATION_BY_CODE_TIMEOUT),
        ("confirm_password_reset_code", app_settings.PASSWORD_RESET_BY_CODE_TIMEOUT),
    ],
)
def test_code__asked_for__is_valid_as_long_as_the_page_says(page: str, seconds: int) -> None:
    text = " ".join(render_to_string(f"account/{page}.html", request=RequestFactory().get("/")).split())
    assert f"It is valid for {seconds // 60} minutes." in text
