"""Values that a log line must never contain."""

import io
import json
import logging
import logging.config
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.error_reports import start_error_reports, without_secrets
from config.logs import logging_config
from keys.tokens import make_token

PASSWORD = "what somebody submitted"


def logged_failure(human: bool, message: str) -> str:
    config = logging_config(level="INFO", human=human)
    formatter = logging.config.DictConfigurator(config).configure_formatter(config["formatters"]["line"])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logger = logging.Logger("test")
    logger.addHandler(handler)
    secret_in_a_local_variable = PASSWORD
    try:
        raise ValueError(message)
    except ValueError:
        logger.exception("failed, %s characters", len(secret_in_a_local_variable))
    return stream.getvalue()


@pytest.mark.parametrize("human", [True, False])
def test_log__traceback__shows_no_local_variables(human: bool) -> None:
    line = logged_failure(human, "an ordinary message")
    assert "an ordinary message" in line
    assert PASSWORD not in line


@pytest.mark.parametrize("human", [True, False])
def test_log__postgresql_detail__is_left_out(human: bool) -> None:
    detail = f"new row violates check\nDETAIL:  Failing row contains (1, {PASSWORD}\n{PASSWORD}).\nCONTEXT:  COPY"
    line = logged_failure(human, detail)
    assert PASSWORD not in line
    assert "violates check" in line
    assert "COPY" in line


def test_log__production__is_one_line_of_json() -> None:
    (line,) = logged_failure(False, "x").splitlines()
    assert json.loads(line)["level"] == "error"


def test_error_reports__package_missing__says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(ImproperlyConfigured, match="pip install 'sentry-sdk"):
        start_error_reports("https://key@sentry.example/1")


def test_without_secrets__of_keys_and_tokens__keeps_words_and_public_ids() -> None:
    """Links of mails have their token in the path."""
    key = make_token()
    text = f"/api/keys/key_{'0' * 26} of {key} or {make_token(publishable=True)}: /invitations/{'aB3-' * 9}/ whsec_aa=="
    left = "/api/keys/key_00000000000000000000000000 of [left out] or [left out]: /invitations/[left out]/ [left out]"
    assert without_secrets(text) == left
