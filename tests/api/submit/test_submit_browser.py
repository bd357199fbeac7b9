"""Submissions from pages: origins and burst limits (docs/contract.md 5.20 to 5.22)."""

import time

import pytest

from keys.plans import Plan
from tests.services.application import Application
from tests.services.client import Answer, Client
from tests.support.replies import INVALID_ACCESS_KEY, SECONDS, failure
from tests.support.submitting import accepted, records, submit
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant

LIST = ["https://shop.example.com", "https://*.example.org", "http://localhost:3000"]
BURST, FORM_BURST, MINUTE = 10, 60, 60


def refused(origin: str) -> dict[str, object]:
    message = f"This form does not take submissions from {origin}."
    return failure("origin_not_allowed", message)


@pytest.mark.parametrize(
    "headers",
    first_on_both(
        [
            {"Origin": "https://shop.example.com"},
            {"Referer": "https://shop.example.com/contact?x=1"},
            {"Origin": "https://SHOP.example.com:443"},
            {"Origin": "https://a.example.org"},
            {"Origin": "https://a.b.example.org"},
            {"Origin": "http://localhost:3000"},
            {"Referer": "https://a.example.org"},
            {"Origin": "https://shop.example.com", "Referer": "https://evil.example/"},
        ],
        2,
    ),
    ids=str,
)
@pytest.mark.parametrize("kind", ["publishable", "secret"])
def test_origin__on_the_list__is_taken(api: Client, kind: str, headers: dict[str, str]) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=LIST)

    answer = submit(api, tenant.publishable if kind == "publishable" else tenant.key, form_id, **headers)

    assert (answer.status, answer.json()) == (201, accepted(form_id))
    assert [row["meta"]["origin"] for row in records(api, tenant, form_id)] == [headers.get("Origin")]


OFF_THE_LIST = [
    ({"Origin": "https://evil.example"}, "https://evil.example"),
    ({"Origin": "http://shop.example.com"}, "http://shop.example.com"),
    ({"Origin": "https://shop.example.com:8443"}, "https://shop.example.com:8443"),
    ({"Origin": "https://shop.example.com.evil.example"}, "https://shop.example.com.evil.example"),
    ({"Origin": "https://example.org"}, "https://example.org"),
    ({"Origin": "https://evilexample.org"}, "https://evilexample.org"),
    ({"Origin": "http://a.example.org"}, "http://a.example.org"),
    ({"Origin": "http://localhost"}, "http://localhost"),
    ({"Origin": "chrome-extension://abcdef"}, "chrome-extension://abcdef"),
    ({"Origin": "https://evil.example", "Referer": "https://shop.example.com/"}, "https://evil.example"),
]
HIDDEN = "this page, which hides its address"
WITHOUT_ORIGIN = [
    ({}, HIDDEN),
    ({"Origin": "null"}, HIDDEN),
    ({"Origin": "null", "Referer": "https://shop.example.com/"}, HIDDEN),
    ({"Referer": "https://evil.example/?https://shop.example.com"}, "https://evil.example"),
    ({"Referer": "https://shop.example.com@evil.example/"}, "https://evil.example"),
    ({"Referer": "shop.example.com"}, HIDDEN),
]


@pytest.mark.parametrize(("headers", "shown"), first_on_both(OFF_THE_LIST + WITHOUT_ORIGIN), ids=str)
def test_origin__off_the_list_or_missing__is_refused_to_a_publishable_key(
    api: Client, headers: dict[str, str], shown: str
) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=LIST)

    answer = submit(api, tenant.publishable, form_id, **headers)

    assert (answer.status, answer.json()) == (403, refused(shown))
    assert records(api, tenant, form_id) == []


@pytest.mark.parametrize(("headers", "shown"), first_on_both(OFF_THE_LIST), ids=str)
def test_origin__off_the_list__is_refused_to_a_secret_key_too(api: Client, headers: dict[str, str], shown: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=LIST)

    answer = submit(api, tenant.key, form_id, **headers)

    assert (answer.status, answer.json()) == (403, refused(shown))


@pytest.mark.parametrize("headers", first_on_both([headers for headers, _ in WITHOUT_ORIGIN]), ids=str)
def test_origin__null_or_none__is_taken_from_a_secret_key(api: Client, headers: dict[str, str]) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=LIST)

    assert submit(api, tenant.key, form_id, **headers).status == 201


@pytest.mark.parametrize(
    "headers", first_on_both([{}, {"Origin": "null"}, {"Origin": "https://any.example"}, {"Referer": "x"}]), ids=str
)
def test_origin__form_without_a_list__is_never_asked(api: Client, headers: dict[str, str]) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    assert submit(api, tenant.publishable, form_id, **headers).status == 201


def test_origin__of_our_own_hosted_page__is_always_taken(api: Client, service: Application) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=["https://shop.example.com"])

    by_origin = submit(api, tenant.publishable, form_id, Origin=service.base_url)
    by_referer = submit(api, tenant.publishable, form_id, Referer=f"{service.base_url}/f/{form_id}")

    assert (by_origin.status, by_referer.status) == (201, 201)


def test_origin__default_form_with_a_list__holds_when_no_form_is_named(api: Client) -> None:
    tenant = make_tenant()
    api.patch(f"/api/forms/{tenant.default_form_id}", tenant.key, json={"allowedOrigins": LIST})

    answer = api.post("/api/submit", tenant.publishable, json={"a": "1"}, headers={"Origin": "https://evil.example"})

    assert (answer.status, answer.json()) == (403, refused("https://evil.example"))


def submit_until_refused(clients: list[Client], key: str, form_id: str, **headers: str) -> tuple[int, bool, Answer]:
    """Return the number of accepted submissions, whether the minute ended meanwhile, and the refusal."""
    start, taken = time.time(), 0
    while True:
        answer = submit(clients[taken % len(clients)], key, form_id, **headers)
        if answer.status != 201:
            assert answer.status == 429, answer.text
            # The limiter's minutes start at whole seconds, and the refusal's minute ends with `Retry-After`.
            first_second = int(time.time()) + int(answer.headers["Retry-After"]) - MINUTE + 1
            return taken, first_second > int(start), answer
        taken += 1
        assert taken <= 2 * FORM_BURST


@pytest.mark.parametrize("kind", ["publishable", "secret"])
def test_burst__eleventh_in_a_minute_from_one_address__is_refused(api: Client, kind: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    key = tenant.publishable if kind == "publishable" else tenant.key

    taken, rolled_over, refusal = submit_until_refused([api], key, form_id, Origin="https://shop.example.com")

    assert taken == BURST or (rolled_over and BURST < taken <= 2 * BURST)
    seconds = refusal.headers["Retry-After"]
    assert seconds == SECONDS
    assert int(seconds) <= MINUTE
    told = f"The limit of 10 requests is used up. Try again in {seconds} seconds."
    assert refusal.json() == failure("rate_limited", told)
    assert len(records(api, tenant, form_id)) == taken


def test_burst__of_one_address_and_form__leaves_other_addresses_forms_and_servers_alone(
    api: Client, service: Application
) -> None:
    tenant = make_tenant()
    form_id, other_form = tenant.form(), tenant.form()
    submit_until_refused([api], tenant.publishable, form_id)

    with Client(service.port) as neighbour:
        assert submit(neighbour, tenant.publishable, form_id).status == 201
    assert submit(api, tenant.publishable, other_form).status == 201
    assert submit(api, tenant.key, form_id).status == 201


def test_burst__sixty_first_of_a_form_in_a_minute__is_refused_to_any_address(service: Application) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    clients = [Client(service.port) for _ in range(7)]

    taken, rolled_over, refusal = submit_until_refused(clients, tenant.publishable, form_id)

    assert taken == FORM_BURST or (rolled_over and FORM_BURST < taken <= 2 * FORM_BURST)
    told = f"The limit of 60 requests is used up. Try again in {refusal.headers['Retry-After']} seconds."
    assert (refusal.status, refusal.json()) == (429, failure("rate_limited", told))
    for client in clients:
        client.__exit__()


def test_burst__from_a_server_with_a_secret_key__does_not_hold(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    assert [submit(api, tenant.key, form_id).status for _ in range(BURST + 5)] == [201] * (BURST + 5)


def remaining(answer: Answer) -> tuple[int, int]:
    """Return the limit that an answer was counted against, and its remaining requests."""
    return int(answer.headers["X-RateLimit-Limit"]), int(answer.headers["X-RateLimit-Remaining"])


def test_refused_page__is_counted_against_its_address_alone(api: Client) -> None:
    tenant = make_tenant(Plan.PRO)
    form_id = tenant.form(allowed_origins=LIST)

    first = submit(api, tenant.key, form_id)
    by_origin = [submit(api, tenant.publishable, form_id, Origin="https://evil.example") for _ in range(3)]
    elsewhere = api.get("/api/forms", tenant.publishable)
    last = submit(api, tenant.key, form_id)

    assert [remaining(answer) for answer in (*by_origin, elsewhere)] == [(100, 99), (100, 98), (100, 97), (100, 96)]
    assert (remaining(first)[0], remaining(last)[0]) == (10_000, 10_000)
    assert remaining(first)[1] - remaining(last)[1] == 1


def test_burst__refused__is_counted_against_the_address_alone(api: Client) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id = tenant.form()

    taken, _, refusal = submit_until_refused([api], tenant.publishable, form_id)
    answer = submit(api, tenant.key, form_id)

    assert remaining(refusal) == (100, 99)
    assert remaining(answer) == (100, 100 - taken - 1)


def use_up_address(api: Client, tenant: Tenant, form_id: str) -> None:
    for _ in range(100):
        assert submit(api, tenant.publishable, form_id, Origin="https://evil.example").status == 403


def test_refused_page__hundred_times_an_hour__cannot_use_up_its_organization(api: Client, service: Application) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id = tenant.form(allowed_origins=LIST)
    use_up_address(api, tenant, form_id)

    over = submit(api, tenant.publishable, form_id, Origin="https://evil.example")

    told = f"The limit of 100 requests is used up. Try again in {over.headers['Retry-After']} seconds."
    assert (over.status, over.json()) == (429, failure("rate_limited", told))
    with Client(service.port) as visitor:
        good = submit(visitor, tenant.publishable, form_id, Origin="https://shop.example.com")
    assert (good.status, remaining(good)) == (201, (100, 90))  # the room for pages, in tenths


@pytest.mark.parametrize("origin", ["https://shop.example.com", "https://evil.example"])
def test_page__without_a_valid_key__is_told_so_before_its_origin_is_looked_at(api: Client, origin: str) -> None:
    form_id = make_tenant().form(allowed_origins=LIST)

    answer = submit(api, "fp_pub_wrong", form_id, Origin=origin)

    assert (answer.status, answer.json()) == (401, INVALID_ACCESS_KEY)
