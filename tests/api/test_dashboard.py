"""The first screen of the dashboard: who gets in, and what they see."""

import itertools
import re
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from keys.models import User
from tests.api.arrange import Tenant, make_tenant
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.services.receivers import MailReceiver

PASSWORD = "a long and quiet password"
LOGIN = "/dashboard/login"


class Browser:
    """Keeps cookies and sends forms with their CSRF token, as a browser does."""

    def __init__(self, api: Client) -> None:
        self.api = api
        self.cookies: dict[str, str] = {}

    def get(self, path: str) -> Answer:
        return self._remember(self.api.get(path, headers=self._headers()))

    def send(self, path: str, **values: str) -> Answer:
        return self.post(path, form=path, **values)

    def post(self, path: str, *, form: str, **values: str) -> Answer:
        """Post to `path` what was entered on the page `form`."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(form).text)
        assert token, f"{form} has no form"
        body = urlencode({**values, "csrfmiddlewaretoken": token[1]})
        headers = {**self._headers(), "Content-Type": "application/x-www-form-urlencoded"}
        return self._remember(self.api.post(path, data=body, headers=headers))

    def _headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def _remember(self, answer: Answer) -> Answer:
        for line in answer.headers.getlist("Set-Cookie"):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer


def person_of(tenant: Tenant) -> User:
    tenant.owner.set_password(PASSWORD)
    tenant.owner.save()
    return tenant.owner


def test_dashboard__anonymous__is_sent_to_the_login(api: Client) -> None:
    answer = api.get("/dashboard/")
    assert (answer.status, answer.headers["Location"]) == (302, "/dashboard/login?next=/dashboard/")


def test_dashboard__wrong_password__stays_outside(api: Client) -> None:
    owner = person_of(make_tenant())
    answer = Browser(api).send(LOGIN, username=owner.email, password="not this one")
    assert answer.status == 200
    assert "Please enter a correct email and password" in answer.text


def test_dashboard__owner__sees_their_forms_and_submissions_and_no_others(api: Client) -> None:
    ours, others = make_tenant(), make_tenant()
    form_id, foreign_form_id = ours.form(name="Ours"), others.form(name="Foreign")
    api.post(f"/api/submit?formId={form_id}", ours.key, json={"note": "<script>alert(1)</script>"})
    api.post(f"/api/submit?formId={foreign_form_id}", others.key, json={"note": "secret of others"})
    browser = Browser(api)
    assert browser.send(LOGIN, username=person_of(ours).email, password=PASSWORD).status == 302
    page = browser.get("/dashboard/").text
    assert form_id in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>" not in page
    assert foreign_form_id not in page
    assert "secret of others" not in page


def test_dashboard__logged_out__is_closed_again(api: Client) -> None:
    browser = Browser(api)
    browser.send(LOGIN, username=person_of(make_tenant()).email, password=PASSWORD)
    page = browser.get("/dashboard/").text
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token
    headers = {**browser._headers(), "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"csrfmiddlewaretoken": token[1]})
    assert api.post("/dashboard/logout", data=body, headers=headers).status == 302
    assert browser.get("/dashboard/").status == 302


def test_login__without_csrf_token__is_refused(api: Client) -> None:
    owner = person_of(make_tenant())
    body = urlencode({"username": owner.email, "password": PASSWORD})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert api.post(LOGIN, data=body, headers=headers).status == 403


def test_password__owner_made_by_a_command__sets_one_by_mail(api: Client, smtp: MailReceiver) -> None:
    owner = make_tenant().owner
    assert not owner.has_usable_password()
    browser = Browser(api)
    assert browser.send("/dashboard/password", email=owner.email).headers["Location"] == "/dashboard/password/sent"
    mail = smtp.wait_for(owner.email)[0]
    link = re.search(r"(/dashboard/password/\S+)", mail.message.get_content())
    assert link
    form_path = browser.get(link[1]).headers["Location"]
    assert browser.send(form_path, new_password1=PASSWORD, new_password2=PASSWORD).status == 302
    assert browser.send(LOGIN, username=owner.email, password=PASSWORD).headers["Location"] == "/dashboard/"


def test_password__unknown_address__answers_the_same(api: Client) -> None:
    answer = Browser(api).send("/dashboard/password", email="nobody@example.com")
    assert (answer.status, answer.headers["Location"]) == (302, "/dashboard/password/sent")


def test_login__eleventh_try_within_a_minute__is_refused_from_that_address_alone(service: Application) -> None:
    owner = person_of(make_tenant())
    with Client(service.port) as guessing, Client(service.port) as other:
        browser = Browser(guessing)
        # Ten, or up to twenty when the minute ends in between; then it is refused, whatever the password.
        guesses = (browser.send(LOGIN, username=owner.email, password="a guess").status for _ in range(21))
        tries = list(itertools.takewhile(lambda status: status == 200, guesses))
        refused = browser.send(LOGIN, username=owner.email, password=PASSWORD)
        assert 10 <= len(tries) <= 20
        assert (refused.status, "Too many tries" in refused.text) == (429, True)
        assert int(refused.headers["Retry-After"]) > 0
        assert Browser(other).send(LOGIN, username=owner.email.upper(), password=PASSWORD).status == 302


def test_password__link_that_was_never_sent__says_what_to_do(api: Client) -> None:
    page = Browser(api).get("/dashboard/password/MQ/set-password-0")
    assert "Ask for a new one" in page.text
