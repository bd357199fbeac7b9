"""Sites that move from another service change one address: the vendors' own examples (docs/moving.md)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from dashboard.refusal_advice import advise
from keys.models import AccessKey, Organization
from submissions.hosted import moved_urls
from submissions.models import Submission
from tests.services.client import Answer, Client
from tests.support.browser import logged_in, person_of, place
from tests.support.hosted_posts import GOOD, SHOP, URLENCODED, WANTS_JSON, accepted_json, multipart, post
from tests.support.rate_windows import remaining
from tests.support.refusals import the_row
from tests.support.replies import unknown_id
from tests.support.submitting import records, stored_data, submit
from tests.support.tables.databases import first_on_both
from tests.support.tables.moved_table import ADDRESSES, CONTACT, EXAMPLES, Example
from tests.support.tenants import Tenant, make_tenant


def fill(text: Any, tenant: Tenant, form_id: str) -> Any:
    return text.replace("{form}", form_id).replace("{key}", tenant.publishable) if isinstance(text, str) else text


def send(api: Client, example: Example, tenant: Tenant, form_id: str) -> Answer:
    values = {name: fill(text, tenant, form_id) for name, text in example.values.items()}
    path, headers = fill(example.path, tenant, form_id), SHOP | dict(example.headers)
    if example.sent == "JSON":
        return api.post(path, json=values, headers=headers)
    if example.sent == "multipart":
        body, kind = multipart(values)
        return api.post(path, data=body, headers=headers | kind)
    return api.post(path, data=urlencode(values), headers=headers | URLENCODED)


@pytest.mark.parametrize("example", first_on_both(EXAMPLES, 8), ids=str)
def test_example__of_another_services_documentation__is_stored_and_answered(api: Client, example: Example) -> None:
    tenant = make_tenant()
    form_id = tenant.default_form_id if example.to_default_form else tenant.form()

    answer = send(api, example, tenant, form_id)

    thanks = f"http://127.0.0.1:{api.port}/f/{form_id}/thanks"
    target = f"https://shop.example{example.moved}" if example.moved else thanks
    if example.sent == "JSON" or ".json" in example.path:
        extra = {"code": 200, "status": "success"} if example.vendor == "Formcarry" else {}
        assert (answer.status, answer.json()) == (201, accepted_json(form_id, target) | extra)
    else:
        assert (answer.status, answer.headers["Location"]) == (303, target)
    assert [(one["data"], one["spam"]) for one in records(api, tenant, form_id)] == [(dict(example.stored), False)]


def test_addresses__compared_with_the_url_configuration__are_all_in_the_table() -> None:
    assert {pattern.name for pattern in moved_urls.urlpatterns} == set(ADDRESSES)


@pytest.mark.on_sqlite
@pytest.mark.parametrize("name", [name for name in ADDRESSES if name != "root"])
def test_address__from_a_page_with_credentials__answers_cors_and_sets_no_cookie(api: Client, name: str) -> None:
    path = ADDRESSES[name].replace("{form}", make_tenant().form())
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}

    answers = [
        api.options(path, headers=SHOP | asked),
        api.post(path, json={"a": "1"}, headers=SHOP | {"Cookie": "sessionid=x"}),
    ]

    assert answers[0].status == 204
    for answer in answers:
        assert answer.headers["Access-Control-Allow-Origin"] == "https://shop.example"
        assert answer.headers["Access-Control-Allow-Credentials"] == "true"
        assert "Origin" in answer.headers["Vary"]
        assert "Set-Cookie" not in answer.headers


def test_control_names_of_others__are_data_on_the_api(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    names = [*("_redirect", "_captcha", "_template", "_cc", "_autoresponse", "_blacklist", "access_key", "form-name")]
    values = dict.fromkeys(names, "x")

    assert submit(api, tenant.publishable, form_id, values).status == 201
    assert stored_data(api, tenant, form_id) == [values]


def test_framework_field__that_the_form_declares__is_kept(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[{"name": "_token", "label": "Token", "type": "Text", "required": True}])

    assert post(api, form_id, {"_token": "mine", "_csrf": "theirs"}).status == 303
    assert stored_data(api, tenant, form_id) == [{"_token": "mine"}]


def test_only_framework_fields__are_an_empty_submission(api: Client) -> None:
    assert post(api, make_tenant().form(), {"csrfmiddlewaretoken": "t", "_cc": "a@example.com"}).status == 400


def test_copy_that_a_page_asks_for__is_mailed_to_nobody__and_the_story_says_so(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    assert post(api, form_id, {"a": "1", "_cc": "stranger@example.com"}).status == 303
    (record,) = records(api, tenant, form_id)

    page = logged_in(api, person_of(tenant)).get(place(tenant, f"submissions/{record['id']}"))

    assert "_cc" not in record["data"]
    assert "No copy was mailed" in page.text
    assert "stranger@example.com" in page.text


KEYS: dict[str, Callable[[Tenant], dict[str, Any]]] = {
    "missing": lambda _: {},
    "misspelt": lambda tenant: {"access_key": f"{tenant.publishable}x"},
    "secret": lambda tenant: {"access_key": tenant.key},
    "a list": lambda tenant: {"access_key": [tenant.publishable]},
}


@pytest.mark.parametrize("case", KEYS)
def test_submit__without_a_publishable_key__is_refused_in_visitors_words(api: Client, case: str) -> None:
    tenant = make_tenant()
    values = {**CONTACT, **KEYS[case](tenant)}

    as_json = api.post("/submit", json=values)
    page = api.post("/submit", data=urlencode(values), headers=URLENCODED)

    message = "The form on this page is not set up correctly. Contact the owner of the site."
    assert (as_json.status, as_json.json()["error"], as_json.json()["message"]) == (401, "invalid_access_key", message)
    assert (page.status, message in page.text, CONTACT["message"] in page.text) == (401, True, True)
    assert tenant.key not in page.text
    assert records(api, tenant, tenant.default_form_id) == []
    seen = AccessKey.objects.get(organization=tenant.organization, kind=AccessKey.Kind.SECRET).browser_seen_at
    assert (seen is not None) == (case == "secret")


def test_submit__with_a_secret_key__is_shown_to_its_owner_with_the_fix(api: Client) -> None:
    tenant = make_tenant()
    assert api.post("/submit", json={"access_key": tenant.key, **CONTACT}).status == 401

    row = the_row(tenant)
    advice = advise(row)

    assert (row.code, row.detail_code) == ("invalid_access_key", "secret")
    assert advice.title == "The page has the secret key “Administrative” in its body"
    assert "Put a publishable key into the page" in advice.fix


def test_submit__with_a_form_id__goes_to_that_form__if_it_is_the_organizations(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    form_id, foreign = tenant.form(), other.form()
    values = {"access_key": tenant.publishable, "a": "1"}

    by_query = api.post(f"/submit?formId={form_id}", json=values)
    by_field = api.post("/submit", json={**values, "_formId": form_id})
    refused = [api.post(f"/submit?formId={one}", json=values).status for one in (foreign, unknown_id("frm"), "abc")]

    assert (by_query.status, by_field.status, refused) == (201, 201, [403, 404, 400])
    assert stored_data(api, tenant, form_id) == [{"a": "1"}] * 2
    assert Submission.objects.filter(organization=other.organization).count() == 0


def test_submit__over_the_hour__is_held_like_any_plain_post(api: Client) -> None:
    tenant = make_tenant()
    Organization.objects.filter(pk=tenant.organization.pk).update(plan="enterprise", rate_limit=1)

    answer = api.post("/submit", data=urlencode({"access_key": tenant.publishable, "a": "1"}), headers=URLENCODED)

    assert answer.status == 303
    assert [row.held for row in Submission.objects.filter(organization=tenant.organization)] == ["quota"]


@pytest.mark.parametrize("path", ["/submit", "/s/{form}", "/{form}"])
def test_address__bursts_origins_and_honeypots__are_those_of_f(api: Client, path: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(allowed_origins=["https://shop.example"])
    path = f"{path.replace('{form}', form_id)}?formId={form_id}"
    values = {"access_key": tenant.publishable, **GOOD}

    spam = api.post(path, json={**values, "_gotcha": "x"}, headers=SHOP)
    foreign = api.post(path, json=values, headers={"Origin": "https://evil.example"})
    statuses = [api.post(path, json=values, headers=SHOP).status for _ in range(21)]

    assert (spam.status, foreign.status, 429 in statuses) == (201, 403, True)
    assert sum(one["spam"] for one in records(api, tenant, form_id)) == 1
    assert remaining(api.get("/api/forms", tenant.key)) > 0


HTML = {"Accept": "text/html"}


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/you@example.com", "/ajax/you@example.com", "/ajax/a", f"/{'0a' * 16}", "/"])
def test_post_where_no_form_is__says_what_to_put_there__and_keeps_the_text(api: Client, path: str) -> None:
    page = api.post(path, data=urlencode({**CONTACT, "form-name": "x"}), headers=URLENCODED | HTML)
    as_json = api.post(path, json=CONTACT, headers=WANTS_JSON)

    example = "/f/frm_…" if path == "/" else "/frm_…"
    assert (page.status, as_json.status, as_json.json()["error"]) == (404, 404, "not_found")
    for text in (f"http://127.0.0.1:{api.port}{example}", "Is this your site?"):
        assert text in page.text
    assert (CONTACT["message"] in page.text) == (path != "/")  # which reads no body
    assert example in as_json.json()["message"]
    assert "CSRF" not in page.text


@pytest.mark.on_sqlite
def test_address__opened_in_a_browser__leads_to_the_form(api: Client) -> None:
    form_id = make_tenant().form()

    for path in (f"/s/{form_id}", f"/{form_id}", f"/p/x/f/{form_id}"):
        answer = api.get(path, headers=HTML)
        assert (answer.status, answer.headers["Location"]) == (302, f"http://127.0.0.1:{api.port}/f/{form_id}")
    assert api.get(f"/{unknown_id('frm')}", headers=HTML).status == 404
    assert api.get("/submit", headers=HTML).status == 404


@pytest.mark.on_sqlite
@pytest.mark.parametrize("path", ["/", "/you@example.com"])
def test_post_where_no_form_is__more_than_an_address_may_send__is_429(api: Client, path: str) -> None:
    pages = [api.post(path, data="a=1", headers=URLENCODED | HTML) for _ in range(70)]  # the minute may turn once
    refused = [page for page in pages if page.status == 429]
    assert {page.status for page in pages} == {404, 429}
    assert 10 <= len(refused) <= 40
    assert 1 <= int(refused[0].headers["Retry-After"]) <= 61
    assert "This was not sent" in refused[0].text
    bodies = [api.post(path, json=CONTACT, headers=WANTS_JSON).json() for _ in range(70)]
    assert "rate_limited" in {body["error"] for body in bodies}
    assert api.get("/", headers=HTML).status == 302
