"""
Groups of addresses that middleware treats alike.

Middleware knows them by their names in the URLconfs, the only place for paths; pages for people by their first segment.
"""

from django.http import HttpRequest
from django.urls import Resolver404, resolve

PAGES = ("/dashboard", "/account", "/admin")  # for people with an account
LOCALIZED = (*PAGES, "/setup", "/mails", "/demo")  # in their reader's language
WITH_COOKIES = (*LOCALIZED, "/files")  # on all others no cookie is read or set
PLAIN_POSTS = ("hosted-", "moved-")  # how names begin: `/f/`, and addresses of other form services
OPEN_TO_SCRIPTS = frozenset(
    {"submit", "schema", "form-schema", "forms-js"}
)  # of pages of any origin; plain posts are too
READ_BY_SCRIPTS = frozenset({"hosted-challenge", "hosted-thanks"})  # of plain posts, with GET
ON_BOTH_HOSTS = frozenset({"hosted-challenge", "hosted-logo"})  # the dashboard shows logos too
ON_THE_PAGES_HOST = frozenset({"submit", "forms-js", "security-txt"})  # besides plain posts


def name_of(request: HttpRequest) -> str:
    """Return the name of the request's address with its namespace; of one without name anything else."""
    match = request.resolver_match  # set by Django, unless a middleware has answered
    if match is None:
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return ""
    return match.view_name


def is_open(name: str) -> bool:
    """Return whether scripts of any origin may call an address."""
    return name in OPEN_TO_SCRIPTS or name.startswith(PLAIN_POSTS)
