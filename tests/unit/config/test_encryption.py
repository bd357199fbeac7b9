import pytest
from pytest_django import Settings

from config.secrets.encryption import PREFIX, CannotDecrypt, decrypt, encrypt, is_current

OLD, NEW = "o" * 40, "n" * 40


def test_encryption__a_text__is_unreadable_and_comes_back() -> None:
    stored = encrypt("whsec_secret ÄÖ")
    assert stored.startswith(PREFIX)
    assert "whsec" not in stored
    assert decrypt(stored) == "whsec_secret ÄÖ"
    assert encrypt("whsec_secret ÄÖ") != stored


def test_encryption__empty_and_plain_values__stay_as_they_are() -> None:
    assert encrypt("") == ""
    assert decrypt("") == ""
    assert decrypt("plain, of an earlier release") == "plain, of an earlier release"


def test_encryption__a_new_key_in_front__decrypts_the_old_values(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    stored = encrypt("secret")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert decrypt(stored) == "secret"
    assert not is_current(stored)
    assert is_current(encrypt("secret"))
    settings.ENCRYPTION_KEYS = [NEW]
    with pytest.raises(CannotDecrypt):
        decrypt(stored)


def test_encryption__without_keys_of_its_own__uses_the_secret_keys(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS, settings.SECRET_KEY = [], OLD
    stored = encrypt("secret")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
    assert decrypt(stored) == "secret"
