"""The commands that create organizations, keys, plans and the demo (docs/contract.md 8.5)."""

import datetime as dt
import json
import re
import secrets
import shlex
import stat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.base.times import now
from forms_app.models import Form
from keys.access_keys import issue_key, regenerate_key, revoke_key
from keys.models import AccessKey, Membership, Organization, User
from tests.services.application import Application
from tests.services.client import Client
from tests.services.waiting import eventually
from tests.support.command_line import complaint, output
from tests.support.key_records import id_of_key, record
from tests.support.replies import ALL_SIX, assert_headers, success
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant
from webhooks.models import Delivery

TOMORROW = (now().date() + dt.timedelta(days=1)).isoformat()


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def fresh_name() -> str:
    return f"Société {secrets.token_hex(6)} & Co"


def fresh_address() -> str:
    return f"{secrets.token_hex(8)}@example.com"


def test_create_organization__unknown_owner__makes_it_whole_and_the_owner_without_a_password(
    service: Application,
) -> None:
    name, email = fresh_name(), fresh_address()
    printed = output(service, "create_organization", name, "--plan", "eNterPRISE", "--owner", email)
    slug = f"societe-{name.split()[1]}-co"
    assert slug in printed
    made = Organization.objects.get(slug=slug)
    assert (made.name, made.plan, made.rate_limit) == (name, "enterprise", None)
    owner = Membership.objects.get(organization=made)
    assert (owner.user.email, owner.role) == (email, "owner")
    assert (owner.user.has_usable_password(), owner.user.is_staff, owner.user.is_superuser) == (False, False, False)
    form = Form.objects.get(organization=made)
    assert (form.name, form.status, form.is_default, form.fields) == ("Inbox", "published", True, [])
    keys = AccessKey.objects.filter(organization=made).order_by("mode")
    made_keys = [(key.kind, key.mode, key.admin, key.permissions) for key in keys]
    assert made_keys == [("publishable", mode, False, []) for mode in ("live", "test")]


def test_create_organization__its_publishable_key__submits_to_its_inbox(service: Application, api: Client) -> None:
    name = fresh_name()
    output(service, "create_organization", name, "--plan", "Pro", "--owner", fresh_address())
    made = Organization.objects.get(name=name)
    key = AccessKey.objects.get(organization=made, mode="live").publishable_token
    answer = api.post("/api/submit", key, json={"message": "Hello"})
    assert answer.status == 201
    assert_headers(answer, 10_000)
    assert answer.json()["data"]["formId"] == Form.objects.get(organization=made).public_id


def test_create_organization__owner_known_in_another_case__is_the_same_person(
    service: Application, tenant: Tenant
) -> None:
    name = fresh_name()
    output(service, "create_organization", name, "--plan", "free", "--owner", tenant.owner.email.upper())
    assert Membership.objects.get(organization__name=name).user_id == tenant.owner.pk
    assert User.objects.filter(email__iexact=tenant.owner.email).count() == 1


def test_create_organization__slug_taken__is_an_error_that_names_it(service: Application, tenant: Tenant) -> None:
    slug = tenant.organization.slug
    # Another name with the same slug.
    words = complaint(
        service, "create_organization", f"{slug.upper()}!", "--plan", "free", "--owner", tenant.owner.email
    )
    assert slug in words
    assert Organization.objects.filter(slug__startswith=slug).count() == 1


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "arguments",
    [
        ["--plan", "gold", "--owner", "ada@example.com"],
        ["--plan", "free", "--owner", "nobody"],
        ["--plan", "free"],
    ],
)
def test_create_organization__wrong_arguments__is_an_error_and_makes_nothing(
    arguments: list[str], service: Application
) -> None:
    name = fresh_name()
    assert complaint(service, "create_organization", name, *arguments)
    assert not Organization.objects.filter(name=name).exists()


@pytest.mark.parametrize(
    ("options", "made"),
    first_on_both(
        [
            ([], {}),
            (["--permission", "forms:read", "--admin"], {"admin": True, "permissions": ["forms:read"]}),
            (["--expires", TOMORROW], {"expiresAt": TOMORROW}),
            (["--permission", "forms:read"], {"permissions": ["forms:read"]}),
            (
                ["--permission=forms:read", "--permission=webhooks:write"],
                {"permissions": ["forms:read", "webhooks:write"]},
            ),
            (["--admin"], {"admin": True}),
            (["--publishable"], {"kind": "publishable", "permissions": []}),
            (["--test"], {"mode": "test"}),
            (["--test", "--publishable"], {"mode": "test", "kind": "publishable", "permissions": []}),
        ],
        3,
    ),
)
def test_create_key__options__prints_the_key_alone_and_stores_what_was_asked(
    options: list[str], made: dict[str, Any], service: Application, tenant: Tenant, api: Client
) -> None:
    arguments = ["--organization", tenant.organization.slug, "--name", "Command", *options]
    printed = output(service, "create_key", *arguments)
    assert re.fullmatch(r"fp_(pub_)?(test_)?[0-9A-Za-z]{46}\n", printed)
    key = printed.strip()
    shown = api.get(f"/api/keys/{id_of_key(key)}", tenant.key)
    assert (shown.status, shown.json()) == (200, success(record("Command", **{"permissions": ALL_SIX, **made})))
    assert api.post("/api/submit", key, json={"message": "Hello"}).status == 201


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "options",
    [
        ["--name", "Command", "--organization", "no-such-organization"],
        ["--name", "Command"],
        ["--organization", "SLUG"],
        ["--name", "Command", "--organization", "SLUG", "--permission", "forms:delete"],
        ["--name", "Command", "--organization", "SLUG", "--expires", "2020-01-01"],
        ["--name", "Command", "--organization", "SLUG", "--expires", "tomorrow"],
    ],
)
def test_create_key__wrong_arguments__is_an_error_and_makes_nothing(
    options: list[str], service: Application, tenant: Tenant
) -> None:
    before = AccessKey.objects.filter(organization=tenant.organization).count()
    given = [tenant.organization.slug if one == "SLUG" else one for one in options]
    assert complaint(service, "create_key", *given)
    assert AccessKey.objects.filter(organization=tenant.organization).count() == before


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        (["FREE"], 100),
        (["Pro"], 10_000),
        (["enterprise"], 100_000),
        (["EnterPrise", "--rate-limit", "7500"], 7_500),
    ],
)
def test_set_plan__plan_in_any_case__holds_from_the_next_request(
    arguments: list[str], limit: int, service: Application, tenant: Tenant, api: Client
) -> None:
    output(service, "set_plan", tenant.organization.slug, *arguments)
    assert_headers(api.get("/api/forms", tenant.key), limit)


def test_set_plan__away_from_a_custom_limit__leaves_the_plans_own(
    service: Application, tenant: Tenant, api: Client
) -> None:
    slug = tenant.organization.slug
    output(service, "set_plan", slug, "enterprise", "--rate-limit", "7500")
    output(service, "set_plan", slug, "enterprise")
    assert_headers(api.get("/api/forms", tenant.key), 100_000)


@pytest.mark.on_sqlite
@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-organization", "pro"],
        ["SLUG", "gold"],
        ["SLUG"],
        ["SLUG", "enterprise", "--rate-limit", "0"],
        ["SLUG", "enterprise", "--rate-limit", "-5"],
        ["SLUG", "enterprise", "--rate-limit", "many"],
        ["SLUG", "free", "--rate-limit", "5"],
    ],
)
def test_set_plan__wrong_arguments__is_an_error_and_changes_nothing(
    arguments: list[str], service: Application, tenant: Tenant
) -> None:
    assert complaint(service, "set_plan", *[tenant.organization.slug if one == "SLUG" else one for one in arguments])
    after = Organization.objects.get(pk=tenant.organization.pk)
    assert (after.plan, after.rate_limit) == ("enterprise", None)


def rows_of_the_demo() -> list[list[Any]]:
    models = (Form, AccessKey, Membership)
    return [list(model.objects.filter(organization__slug="demo").order_by("pk").values()) for model in models]


def test_demo__run_twice__prints_the_same_key_and_keeps_it_for_its_owner_alone(
    service: Application, api: Client
) -> None:
    first = output(service, "demo")
    path = Path(service.environment["DATA_DIR"], "demo-key")
    rows = rows_of_the_demo()
    key = path.read_text().strip()
    assert re.fullmatch(r"fp_[0-9A-Za-z]{46}", key)
    assert key in first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert output(service, "demo") == first
    assert path.read_text().strip() == key
    assert rows_of_the_demo() == rows
    assert api.get("/api/keys", key).status == 200  # it is administrative
    assert api.post("/api/keys", key, json={"name": "Made"}).status == 201  # and its plan is Enterprise


def test_demo__its_curl_line__works_as_printed(service: Application, api: Client) -> None:
    (line,) = [line for line in output(service, "demo").splitlines() if line.startswith("curl ")]
    words = shlex.split(line)[1:]
    options: dict[str, list[str]] = {"": []}
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            options.setdefault(word, []).append(words.pop(0))
        else:
            options[""].append(word)
    (address,) = options.pop("")
    assert address.startswith(service.base_url)
    headers = dict(header.split(": ", 1) for header in options.pop("-H"))
    (data,) = options.pop("-d")
    assert options == {"-X": ["POST"]}
    answer = api.post(address.removeprefix(service.base_url), data=data, headers=headers)
    assert answer.status == 201
    stored = api.get(f"/api/submissions/{answer.json()['data']['id']}", headers["x-access-key"])
    assert stored.json()["data"]["data"] == json.loads(data)


def test_demo__its_login__opens_the_dashboard(service: Application) -> None:
    printed = output(service, "demo")
    email, password = re.search(r"^Login\s+(\S+)\s+(\S+)$", printed, re.MULTILINE).groups()  # type: ignore[union-attr]  # no match fails the test
    user = User.objects.get(email=email)
    assert user.check_password(password)
    assert Membership.objects.get(user=user).organization.plan == "enterprise"
    assert urlsplit(re.search(r"https?://\S+/dashboard/", printed)[0]).port == service.port  # type: ignore[index]  # no match fails the test


def test_keys_made_by__a_person__lists_them_with_their_state_also_when_the_account_is_gone(
    service: Application,
) -> None:
    tenant = make_tenant()
    email = tenant.owner.email
    made = {
        name: issue_key(organization=tenant.organization, name=name, by=tenant.owner)[0] for name in ("A", "B", "C")
    }
    issue_key(organization=tenant.organization, name="Of another", by=None)
    revoke_key(made["A"], by=None)
    before = made["B"].hint
    regenerate_key(made["B"], by=tenant.owner)
    made["B"].refresh_from_db()
    lines = output(service, "keys_made_by", email.upper()).splitlines()
    assert [line.split("  ")[1:] for line in lines] == [
        [tenant.organization.slug, f"A ({made['A'].hint})", "revoked"],
        [tenant.organization.slug, f"B ({before})", "replaced or deleted"],
        [tenant.organization.slug, f"C ({made['C'].hint})", "active"],
        [tenant.organization.slug, f"B ({made['B'].hint})", "active"],
    ]
    mails = Delivery.objects.filter(account=tenant.owner)  # about the new keys; one in flight would be in the way
    eventually(lambda: mails.exists() and not mails.filter(finished_at=None).exists(), because="the mail has left")
    User.objects.filter(pk=tenant.owner.pk).delete()
    assert output(service, "keys_made_by", email).splitlines() == lines
    assert output(service, "keys_made_by", "nobody@example.com") == ""
