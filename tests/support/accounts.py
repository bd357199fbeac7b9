"""A person at the account pages: signing up, logging in, codes from mails and from an authenticator app."""

import re
import secrets
import time

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp

from keys.models import User
from tests.services.client import Answer
from tests.services.receivers import MailReceiver
from tests.services.waiting import eventually
from tests.support.browser import LOGIN, PASSWORD, Browser
from tests.support.mail_links import text_part

SIGN_UP = "/account/signup/"
CONFIRM = "/account/confirm-email/"
FORGOT = "/account/password/reset/"
ANSWER = re.compile(r"is your Fieldpost code$|^You already have an account|^No account with")  # subjects
CODE = re.compile(r"^([A-Z0-9]{3,}(?:-[A-Z0-9]{3,})*)$", re.MULTILINE)  # a line with nothing else, in every language
REAUTHENTICATE = "/account/reauthenticate/"


def new_email() -> str:
    return f"{secrets.token_hex(8)}@example.com"


def mailed_code(smtp: MailReceiver, email: str, count: int = 1) -> str:
    """Return the code of the latest of `count` mails that answer a page. Notices are not counted."""

    def arrived() -> list[str]:
        texts = [(str(mail.message["Subject"]), text_part(mail).replace("\r", "")) for mail in smtp.to(email)]
        answers = [text for subject, text in texts if ANSWER.search(subject) or CODE.search(text)]
        assert len(answers) >= count, f"{len(answers)} answers came"
        return answers

    text = eventually(arrived, because=f"{count} answers to {email}")[-1]
    found = CODE.search(text)
    assert found, text
    return found[1]


def sign_up(browser: Browser, email: str, **values: str) -> Answer:
    return browser.send(SIGN_UP, **{"email": email, "password1": PASSWORD, "organization": "Acme", **values})


def verify(browser: Browser, code: str) -> Answer:
    return browser.send(CONFIRM, code=code)


def log_in(browser: Browser, user: User, password: str = PASSWORD, **values: str) -> Answer:
    return browser.send(LOGIN, login=user.email, password=password, **values)


def reauthenticate(browser: Browser) -> Answer:
    return browser.send(REAUTHENTICATE, password=PASSWORD)


def with_authenticator_app(user: User) -> str:
    """Turn two-step login on and return the app's secret."""
    secret: str = totp.generate_totp_secret()
    Authenticator.objects.create(
        user=user, type=Authenticator.Type.TOTP, data={"secret": get_adapter().encrypt(secret)}
    )
    return secret


def code_of(secret: str, steps: int = 0) -> str:
    """Return what an authenticator app shows now, or some half minutes later."""
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 + steps)))
