"""Changing forms and moving them between draft, published and archived (docs/contract.md 4)."""

from typing import Any

import pytest

from keys.models import AuditEvent
from tests.api.forms.documents import put, try_out
from tests.services.client import Answer, Client
from tests.support.replies import TIME, failure, invalid, success
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field

ARCHIVED = failure("conflict", "This form is archived and can no longer be changed. Create a new one.")


def read(api: Client, tenant: Tenant, form_id: str) -> dict[str, Any]:
    answer = api.get(f"/api/forms/{form_id}", tenant.key)
    assert answer.status == 200, answer.text
    return dict(answer.json()["data"])


def act(api: Client, tenant: Tenant, form_id: str, action: str) -> Answer:
    if action == "archive":
        return api.delete(f"/api/forms/{form_id}", tenant.key)
    return api.post(f"/api/forms/{form_id}/{action}", tenant.key)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "Renamed"},
        {"fields": [{"name": "a", "label": "A", "type": "Text", "required": True}]},
        {"allowedOrigins": ["https://example.com"]},
        {"redirectUrl": "https://example.com/thanks"},
        {"successMessage": "Thanks!"},
        {"retentionDays": 7},
        {"name": "Renamed", "retentionDays": None, "fields": []},
        {},
    ],
)
def test_patch__some_values__leaves_the_others(api: Client, changes: dict[str, Any]) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=[text_field("old", required=False)], success_message="Old", retention_days=30)
    before = read(api, tenant, form_id)

    answer = api.patch(f"/api/forms/{form_id}", tenant.key, json=changes)

    after = {**before, **changes, "updatedAt": TIME}
    assert (answer.status, answer.json()) == (200, success(after, "Form changed."))
    assert read(api, tenant, form_id) == answer.json()["data"]
    assert answer.json()["data"]["updatedAt"] >= before["updatedAt"]


def test_patch__fields_of_fields__are_as_complete_as_on_create(api: Client) -> None:
    tenant = make_tenant()

    answer = api.patch(f"/api/forms/{tenant.form()}", tenant.key, json={"fields": [{"name": "a"}]})

    wrong = [
        (f"fields.0.{name}", "required", f"fields.0.{name}: This field is required.") for name in ("label", "type")
    ]
    assert (answer.status, answer.json()) == (400, invalid(*wrong))


@pytest.mark.parametrize(
    "name", first_on_both(["status", "isDefault", "id", "url", "submissionCount", "publishedAt", "colour", "Name"])
)
def test_patch__name_it_does_not_know__is_refused_and_nothing_changes(api: Client, name: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(published=False)
    before = read(api, tenant, form_id)

    answer = api.patch(f"/api/forms/{form_id}", tenant.key, json={"name": "New", name: "published"})

    message = f"{name}: There is no field of this name: {name}"
    assert (answer.status, answer.json()) == (400, invalid((name, "unknown_field", message)))
    assert read(api, tenant, form_id) == before


def test_publish_and_unpublish__of_a_draft__move_it_there_and_back(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(published=False)
    draft = read(api, tenant, form_id)

    published = act(api, tenant, form_id, "publish")
    unpublished = act(api, tenant, form_id, "unpublish")

    expected = {**draft, "status": "published", "publishedAt": TIME, "updatedAt": TIME}
    assert (published.status, published.json()) == (200, success(expected, "Form published."))
    data = {**published.json()["data"], "status": "draft", "updatedAt": TIME}
    assert (unpublished.status, unpublished.json()) == (200, success(data, "Form unpublished."))


@pytest.mark.parametrize(("published", "action"), [(True, "publish"), (False, "unpublish")])
def test_move__to_the_state_it_has__is_200_and_changes_nothing(api: Client, published: bool, action: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(published=published)
    before = read(api, tenant, form_id)

    answer = act(api, tenant, form_id, action)

    assert (answer.status, answer.json()["data"]) == (200, before)


@pytest.mark.parametrize("published", [True, False])
def test_archive__of_a_form__keeps_it_readable_with_its_submissions(api: Client, published: bool) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    api.post(f"/api/submit?formId={form_id}", tenant.key, json={"a": "1"})
    if not published:
        act(api, tenant, form_id, "unpublish")
    before = read(api, tenant, form_id)

    answer = act(api, tenant, form_id, "archive")

    message = "Form archived. Its submissions are kept."
    assert (answer.status, answer.json()) == (200, success({"id": form_id, "deleted": True}, message))
    assert read(api, tenant, form_id) == {**before, "status": "archived", "updatedAt": TIME}
    kept = api.get(f"/api/submissions?formId={form_id}", tenant.key).json()["data"]
    assert [row["data"] for row in kept] == [{"a": "1"}]


def test_archive__again__is_200_and_changes_nothing(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    first = act(api, tenant, form_id, "archive")
    before = read(api, tenant, form_id)

    second = act(api, tenant, form_id, "archive")

    assert (second.status, second.json()) == (200, first.json())
    assert read(api, tenant, form_id) == before


@pytest.mark.parametrize("action", ["publish", "unpublish", "rename"])
def test_archived_form__any_change__is_a_conflict(api: Client, action: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form()
    act(api, tenant, form_id, "archive")
    before = read(api, tenant, form_id)

    if action == "rename":
        answer = api.patch(f"/api/forms/{form_id}", tenant.key, json={"name": "New"})
    else:
        answer = act(api, tenant, form_id, action)

    assert (answer.status, answer.json()) == (409, ARCHIVED)
    assert read(api, tenant, form_id) == before


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Draft", "Published", "Inbox"]),
        ("?status=draft", ["Draft"]),
        ("?status=published", ["Published", "Inbox"]),
        ("?status=archived", ["Archived"]),
        ("?status=all", ["Archived", "Draft", "Published", "Inbox"]),
    ],
)
def test_list__by_status__leaves_archived_ones_out_unless_asked(api: Client, query: str, expected: list[str]) -> None:
    tenant = make_tenant()
    tenant.form(name="Published")
    tenant.form(name="Draft", published=False)
    act(api, tenant, tenant.form(name="Archived"), "archive")

    answer = api.get(f"/api/forms{query}", tenant.key)

    assert [form["name"] for form in answer.json()["data"]] == expected
    assert answer.json()["pagination"]["total"] == len(expected)


@pytest.mark.parametrize(("action", "done"), [("unpublish", "unpublished"), ("archive", "archived")])
def test_default_form__out_of_use__is_a_conflict(api: Client, action: str, done: str) -> None:
    tenant = make_tenant()
    before = read(api, tenant, tenant.default_form_id)

    answer = act(api, tenant, tenant.default_form_id, action)

    message = f"The default form receives submissions without a form id, so it cannot be {done}."
    assert (answer.status, answer.json()) == (409, failure("conflict", message))
    assert read(api, tenant, tenant.default_form_id) == before


def test_default_form__new_name_and_optional_fields__are_taken(api: Client) -> None:
    tenant = make_tenant()
    changes = {"name": "Everything", "fields": [text_field("a", required=False)]}

    answer = api.patch(f"/api/forms/{tenant.default_form_id}", tenant.key, json=changes)

    shown = answer.json()["data"]
    assert (answer.status, shown["name"], shown["fields"]) == (200, "Everything", changes["fields"])
    assert (shown["isDefault"], shown["status"]) == (True, "published")


def test_default_form__required_field__is_refused(api: Client) -> None:
    tenant = make_tenant()
    before = read(api, tenant, tenant.default_form_id)

    answer = api.patch(
        f"/api/forms/{tenant.default_form_id}", tenant.key, json={"fields": [text_field("a", required=True)]}
    )

    message = "The default form receives submissions without a form id, so none of its fields can be required."
    assert (answer.status, answer.json()) == (
        400,
        invalid(("fields", "required_on_default_form", f"fields: {message}")),
    )
    assert read(api, tenant, tenant.default_form_id) == before


def test_submission_count__right_after_each_submit__is_exact_and_without_spam(api: Client) -> None:
    tenant = make_tenant()
    form_id, other = tenant.form(), tenant.form()
    seen = []
    for body in ({"a": "1"}, {"a": "2"}, {"a": "3", "_gotcha": "bot"}, {"a": "4"}):
        assert api.post(f"/api/submit?formId={form_id}", tenant.key, json=body).status == 201
        seen.append(read(api, tenant, form_id)["submissionCount"])

    assert seen == [1, 2, 2, 3]
    listed = {form["id"]: form["submissionCount"] for form in api.get("/api/forms", tenant.key).json()["data"]}
    assert listed == {form_id: 3, other: 0, tenant.default_form_id: 0}


def test_put__another_status__publishes_and_unpublishes(api: Client) -> None:
    tenant = make_tenant()
    form_id = put(api, tenant, {"name": "Orders"}).json()["data"]["id"]
    for status, page in (("published", 200), ("draft", 404)):
        document = {"name": "Orders", "status": status}
        change = {"path": "status", "from": "draft" if page == 200 else "published", "to": status}
        assert try_out(api, tenant, document).json()["data"]["changes"] == [change]

        record = put(api, tenant, document).json()["data"]

        assert (record["status"], api.get(f"/f/{form_id}").status) == (status, page)
        assert put(api, tenant, document).json()["data"] == record
    actions = AuditEvent.objects.filter(organization_ref=tenant.organization.pk, subject="Orders").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["form.created", "form.published", "form.unpublished"]
