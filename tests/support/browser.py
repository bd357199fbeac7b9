"""The dashboard over HTTP: a person's browser with cookies, CSRF tokens and what a page shows."""

import html
import re
import secrets
import time
from collections.abc import Sequence
from functools import cache
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.backends.db import SessionStore

from dashboard.accounts.session_store import LOGGED_IN_AT
from keys.models import Membership, Organization, User
from tests.services.client import Answer, Client
from tests.support.tenants import Tenant

PASSWORD = "a long and quiet password"
LOGIN = "/account/login/"
TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="([^"]+)"')
Values = str | Sequence[str]


class Browser:
    """Keeps cookies and sends forms with their CSRF token, as a browser does. It does not follow redirects."""

    def __init__(self, api: Client) -> None:
        self.api = api
        self.cookies: dict[str, str] = {}
        self.agent = ""
        self._tokens: dict[str, tuple[str, str]] = {}  # of pages that are open, by address, with the cookie of then

    def get(self, path: str, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._remember(path, self.api.get(path, headers=self.headers() | named))

    def send(self, path: str, **values: Values) -> Answer:
        """Post to `path` the values of the page of the same address."""
        return self.post(path, form=path, **values)

    def post(self, path: str, *, form: str, **values: Values) -> Answer:
        """
        Post to `path` the values of the page `form`; hyphens in names are written `__`, `form` `form_`.

        The page is opened unless it is open. The page at `path` stays open only if the answer is that page.
        """
        named = {name.rstrip("_").replace("__", "-"): value for name, value in values.items()}
        body = urlencode({**named, "csrfmiddlewaretoken": self._token(form)}, doseq=True)
        headers = {**self.headers(), "Content-Type": "application/x-www-form-urlencoded"}
        return self._remember(path, self.api.post(path, data=body, headers=headers))

    def follow(self, answer: Answer) -> Answer:
        """Get the page that an answer leads to."""
        assert answer.status == 302, (answer.status, answer.text[:2000])
        return self.get(answer.headers["Location"])

    def headers(self) -> dict[str, str]:
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        return cookies | ({"User-Agent": self.agent} if self.agent else {})

    def _token(self, form: str) -> str:
        """Return the CSRF token of a page that was opened since the last login."""
        token, cookie = self._tokens.get(form, ("", ""))
        if not token or cookie != self._csrf_cookie():
            self.get(form)
            assert form in self._tokens, f"{form} has no form"
            token, _ = self._tokens[form]
        return token

    def _csrf_cookie(self) -> str:
        return "".join(value for name, value in self.cookies.items() if "csrf" in name)

    def _remember(self, path: str, answer: Answer) -> Answer:
        for line in answer.headers.getlist("Set-Cookie"):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        self._tokens.pop(path, None)
        if token := TOKEN.search(answer.body):
            self._tokens[path] = (token[1].decode(), self._csrf_cookie())
        return answer


def person_of(tenant: Tenant) -> User:
    """Return the tenant's owner, with a password and a verified address."""
    return with_password(tenant.owner)


@cache
def hashed(password: str) -> str:
    """Return a password as it is stored, made once: a hash takes a quarter of a second of processor time."""
    return make_password(password)


def with_password(user: User) -> User:
    user.password = hashed(PASSWORD)
    user.save()
    EmailAddress.objects.update_or_create(user=user, email=user.email, defaults={"verified": True, "primary": True})
    return user


def member_of(organization: Organization, role: str) -> User:
    """Return a new person with this role."""
    user = with_password(User.objects.create_user(f"{role}-{secrets.token_hex(6)}@example.com"))
    Membership.objects.create(organization=organization, user=user, role=role)
    return user


def logged_in(api: Client, user: User, *, seconds_ago: float = 0) -> Browser:
    """Return a browser in which this person has logged in, without the page that takes passwords."""
    browser = Browser(api)
    browser.cookies[settings.SESSION_COOKIE_NAME] = session_of(user, seconds_ago=seconds_ago)
    return browser


def session_of(user: User, *, seconds_ago: float = 0) -> str:
    """Return the key of a session in which this person has logged in."""
    session = SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[LOGGED_IN_AT] = time.time() - seconds_ago
    session.create()
    return str(session.session_key)


def make_stale(session_key: str) -> None:
    """Make the login of a session 11 minutes old: sensitive pages ask for a password, code or passkey again."""
    store = SessionStore(session_key)
    store[LOGGED_IN_AT] = time.time() - 660
    store.pop("account_authentication_methods", None)
    store.save()


def place(tenant: Tenant, page: str = "") -> str:
    """Return the address of a page of the tenant's organization."""
    return f"/dashboard/o/{tenant.organization.slug}/{page}"


def markup_of(answer: Answer) -> str:
    """Return a page's HTML however its templates break lines: white space as one space, and none before `>`."""
    return " ".join(answer.text.split()).replace(" >", ">")


def text_of(page: Answer | str) -> str:
    """Return the text of a page, without its tags and its scripts' words."""
    markup = page if isinstance(page, str) else page.text
    return " ".join(html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", markup, flags=re.DOTALL)).split())
