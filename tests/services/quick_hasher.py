"""A password hasher that costs a thousandth of the product's: a quarter of a second of processor time each."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    """
    Django's default with fewer iterations.

    `tests/unit/dashboard/accounts/test_password_hashes.py` guards the product's number.
    """

    iterations = 1_000
