"""Many wrong passwords: a login needs a proof, from a browser or by a mailed code, and is not locked."""

import altcha
import pytest

from keys.models import Notice, User
from tests.services.application import Application
from tests.services.client import Client
from tests.services.receivers import MailReceiver
from tests.support.accounts import log_in, mailed_code, new_email
from tests.support.browser import LOGIN, Browser, person_of, text_of
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # the limits are in the cache
WRONG, ASKED = "That address and password are not correct.", "proves that it is not a robot"
LIMIT = 20  # wrong passwords of an account in an hour, over all addresses


def solved(api: Client, purpose: str = "login") -> str:
    challenge = altcha.Challenge.from_dict(api.get(f"/f/challenge?formId={purpose}").json())
    solution = altcha.solve_challenge(challenge)
    assert solution is not None
    return str(altcha.Payload(challenge, solution).to_base64())


def guess(service: Application, email: str, times: int) -> list[str]:
    """Guess passwords from new addresses, ten from each. Return what the pages said."""
    pages: list[str] = []
    while len(pages) < times:
        with Client(service.port) as client:
            browser = Browser(client)
            some = range(min(10, times - len(pages)))
            pages += [browser.send(LOGIN, login=email, password="a guess").text for _ in some]
    return pages


@pytest.fixture(scope="module")
def doubted(service: Application) -> User:
    """Return a person for whose account as many passwords were guessed as pass without a proof; once, as it is slow."""
    person = person_of(make_tenant())
    assert all(WRONG in page for page in guess(service, person.email, LIMIT))
    return person


def test_log_in__twenty_guesses_from_two_addresses__ask_every_address_for_a_proof(
    doubted: User, service: Application, api: Client
) -> None:
    assert ASKED in guess(service, doubted.email, 1)[0]
    browser = Browser(api)
    asked = log_in(browser, doubted)
    assert (asked.status, ASKED in asked.text, 'name="_altcha"' in asked.text) == (200, True, True)
    used = solved(api)
    assert log_in(browser, doubted, _altcha=used).status == 302
    assert browser.get("/dashboard/account").status == 200
    again = log_in(Browser(api), doubted, _altcha=used)
    assert (again.status, ASKED in again.text) == (200, True)


def test_log_in__work_for_a_form__is_no_proof(doubted: User, api: Client) -> None:
    for purpose in ("", make_tenant().form()):
        asked = log_in(Browser(api), doubted, _altcha=solved(api, purpose))
        assert (asked.status, ASKED in asked.text) == (200, True)


def test_log_in__after_guesses_without_scripts__works_with_a_mailed_code(
    doubted: User, api: Client, smtp: MailReceiver
) -> None:
    browser = Browser(api)
    sent = log_in(browser, doubted, mail_code="1")
    assert "a code is on its way" in text_of(sent)
    code = mailed_code(smtp, doubted.email)
    assert ASKED in log_in(browser, doubted, proof_code="ABCD-EFGH").text
    assert log_in(browser, doubted, proof_code=code.lower()).status == 302
    assert browser.get("/dashboard/account").status == 200
    assert ASKED in log_in(Browser(api), doubted, proof_code=code).text


def test_log_in__more_guesses_with_proofs__are_wrong_and_mailed_to_the_owner_once(doubted: User, api: Client) -> None:
    for _ in range(2):
        answer = log_in(Browser(api), doubted, password="a guess", _altcha=solved(api))
        assert (answer.status, WRONG in answer.text, 'name="_altcha"' in answer.text) == (200, True, True)
    (notice,) = Notice.objects.filter(account=doubted, kind="account.failed_logins")
    assert "many wrong passwords" in notice.text


def test_log_in__guesses_for_an_unknown_address__look_the_same(service: Application) -> None:
    email = new_email()
    pages = guess(service, email, LIMIT + 1)
    assert ([WRONG in page for page in pages[:-1]], ASKED in pages[-1]) == ([True] * LIMIT, True)


def test_log_in__somebody_behind_my_address_guesses__costs_me_a_proof_and_no_wait(service: Application) -> None:
    mine, other = person_of(make_tenant()), person_of(make_tenant())
    with Client(service.port) as shared:
        for _ in range(10):
            Browser(shared).send(LOGIN, login=other.email, password="a guess")
        assert ASKED in log_in(Browser(shared), mine).text
        assert log_in(Browser(shared), mine, _altcha=solved(shared)).status == 302
