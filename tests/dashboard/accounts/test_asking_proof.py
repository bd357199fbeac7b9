"""Sign-ups and resets: beyond three an hour from an address they need work of the browser, for every name."""

import pytest

from keys.models import User
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.accounts import FORGOT, SIGN_UP, new_email, sign_up
from tests.support.browser import Browser, person_of, text_of
from tests.support.hosted_posts import solve
from tests.support.tenants import make_tenant

pytestmark = pytest.mark.on_sqlite  # the limits are in the cache
ASKED = "this time your browser does some work first"
WITHOUT_SCRIPTS = "Turn on scripts, or try again in an hour."
PURPOSE = "account"


def forget(api: Client, email: str = "", **values: str) -> Answer:
    return Browser(api).send(FORGOT, email=email or new_email(), **values)


def use_up(api: Client) -> None:
    assert [forget(api).status for _ in range(3)] == [302] * 3


def test_sign_up__fourth_in_an_hour__needs_work_for_an_account_once(api: Client) -> None:
    emails = [new_email() for _ in range(4)]
    assert [sign_up(Browser(api), email).status for email in emails[:3]] == [302] * 3
    for proof in ("", solve(api, "login"), solve(api, make_tenant().form())):
        refused = sign_up(Browser(api), emails[3], _altcha=proof)
        assert (refused.status, ASKED in text_of(refused)) == (200, True)
    assert not User.objects.filter(email=emails[3]).exists()
    used = solve(api, PURPOSE)
    assert sign_up(Browser(api), emails[3], _altcha=used).status == 302
    assert User.objects.filter(email=emails[3]).exists()
    assert ASKED in text_of(sign_up(Browser(api), new_email(), _altcha=used))


def test_reset__fourth_in_an_hour__needs_work_for_known_and_unknown_addresses_alike(api: Client) -> None:
    use_up(api)
    known, unknown = forget(api, person_of(make_tenant()).email), forget(api)
    assert [one.status for one in (known, unknown)] == [200, 200]
    assert [ASKED in text_of(one) for one in (known, unknown)] == [True, True]
    for email in (person_of(make_tenant()).email, new_email()):
        assert forget(api, email, _altcha=solve(api, PURPOSE)).status == 302


@pytest.mark.parametrize("path", [SIGN_UP, FORGOT])
def test_page__when_work_is_needed__loads_its_script_and_says_what_to_do_without_one(api: Client, path: str) -> None:
    before = Browser(api).get(path).text
    assert ("data-proof-of-work" in before, WITHOUT_SCRIPTS in before) == (False, False)
    use_up(api)
    page = Browser(api).get(path).text
    for part in ('data-proof-of-work="account"', 'name="_altcha"', "submissions/hosted", WITHOUT_SCRIPTS):
        assert part in page


def test_sign_up__that_is_refused_for_its_values__counts_nothing_and_uses_no_proof(api: Client) -> None:
    for _ in range(4):
        assert "too common" in sign_up(Browser(api), new_email(), password1="password12").text
    use_up(api)
    proof = solve(api, PURPOSE)
    assert "too common" in sign_up(Browser(api), new_email(), password1="password12", _altcha=proof).text
    assert sign_up(Browser(api), new_email(), _altcha=proof).status == 302


def test_other_address__after_many_requests_of_one__needs_no_work(api: Client, service: Application) -> None:
    use_up(api)
    with Client(service.port) as other:
        assert forget(other).status == 302
