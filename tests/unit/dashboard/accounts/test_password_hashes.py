"""How passwords are stored by the product's own settings; the services of other tests hash with less effort."""

from django.conf import global_settings
from django.contrib.auth.hashers import make_password
from pytest_django import Settings

from config import settings as product

ITERATIONS = 1_000_000  # Django 5.2's; more is better


def test_password__with_the_products_settings__is_hashed_a_million_times(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = getattr(product, "PASSWORD_HASHERS", global_settings.PASSWORD_HASHERS)
    algorithm, iterations, _salt, _hash = make_password("a long and quiet password").split("$")
    assert algorithm == "pbkdf2_sha256"
    assert int(iterations) >= ITERATIONS
