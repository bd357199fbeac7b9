"""`reply` and `confirmation` of a form over the API: the record, and what they need (docs/contract.md 10)."""

from typing import Any

import pytest

from config.base.ids import Prefix, decode_id
from forms_app.actions import duplicate_form
from forms_app.models import Form
from keys.plans import Plan
from tests.services.client import Answer, Client
from tests.support.answers.sending import FIELDS, PROOF, REPLY, answering_form
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant, text_field


def change(api: Client, tenant: Tenant, form_id: str, **values: Any) -> Answer:
    return api.patch(f"/api/forms/{form_id}", tenant.key, json=values)


def refusal(answer: Answer) -> tuple[int, list[tuple[str, str]]]:
    return answer.status, [(detail["field"], detail["code"]) for detail in answer.json().get("details", [])]


def test_reply_and_confirmation__set_and_cleared__are_in_the_record(api: Client) -> None:
    tenant = make_tenant()
    form_id = answering_form(tenant, reply=None)

    answer = change(api, tenant, form_id, reply=REPLY, confirmation=True)

    record = answer.json()["data"]
    assert (answer.status, record["reply"], record["confirmation"]) == (200, REPLY, True)
    assert api.get(f"/api/forms/{form_id}", tenant.key).json()["data"] == record
    cleared = change(api, tenant, form_id, reply=None, confirmation=False).json()["data"]
    assert (cleared["reply"], cleared["confirmation"]) == (None, False)


@pytest.mark.parametrize("answers", [{"reply": REPLY}, {"confirmation": True}])
def test_form__without_an_email_field_or_a_human_check__can_answer_nobody(api: Client, answers: dict[str, Any]) -> None:
    tenant = make_tenant()
    (name,) = answers
    without_field = tenant.form(fields=[text_field("topic"), text_field("name")], spam_protection=PROOF)
    without_check = tenant.form(fields=FIELDS)
    half_a_captcha = tenant.form(fields=FIELDS, spam_protection={"captcha": "turnstile", "captcha_site_key": "x"})

    assert refusal(change(api, tenant, without_field, **answers)) == (400, [(name, "email_field_required")])
    for form_id in (without_check, half_a_captcha):
        assert refusal(change(api, tenant, form_id, **answers)) == (400, [(name, "human_check_required")])
    created = api.post("/api/forms", tenant.key, json={"name": "New", "fields": FIELDS, **answers})
    assert refusal(created) == (400, [(name, "human_check_required")])


def test_disabled_reply__needs_nothing_but_declared_names(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(fields=FIELDS)

    assert change(api, tenant, form_id, reply={**REPLY, "enabled": False}).status == 200
    wrong = {"enabled": False, "subject": "x", "text": "{{ data.nobody }}"}
    assert refusal(change(api, tenant, form_id, reply=wrong)) == (400, [("reply.text", "unknown_name")])


@pytest.mark.parametrize(
    ("values", "details"),
    first_on_both(
        [
            ({"subject": "{{ data.nobody }}"}, [("reply.subject", "unknown_name")]),
            ({"text": "{{ data.nobody }}"}, [("reply.text", "unknown_name")]),
            ({"text": "{{ name }}"}, [("reply.text", "invalid_placeholder")]),
            ({"text": "{% if x %} {{"}, [("reply.text", "invalid_placeholder")]),
            ({"text": "{{ data.name }} " * 60}, [("reply.text", "too_many")]),
            ({"text": ""}, [("reply.text", "blank")]),
            ({"subject": "x" * 201}, [("reply.subject", "max_length")]),
            ({"enabled": "yes"}, [("reply.enabled", "invalid")]),
            ({"html": "<b>"}, [("reply.html", "unknown_field")]),
        ]
    ),
)
def test_reply__that_cannot_be_sent__names_its_member(
    api: Client, values: dict[str, Any], details: list[tuple[str, str]]
) -> None:
    tenant = make_tenant()

    answer = change(api, tenant, answering_form(tenant, reply=None), reply={**REPLY, **values})

    assert refusal(answer) == (400, details)


@pytest.mark.parametrize("value", first_on_both(["x", 1, [], {}, {"enabled": True}]))
def test_reply__of_another_shape__is_refused(api: Client, value: Any) -> None:
    tenant = make_tenant()
    assert change(api, tenant, answering_form(tenant, reply=None), reply=value).status == 400


def test_email_field__removed_while_the_form_answers__is_refused(api: Client) -> None:
    tenant = make_tenant()
    others = [field for field in FIELDS if field["name"] != "email"]
    replying, confirming = answering_form(tenant), answering_form(tenant, reply=None, confirmation=True)

    for form_id in (replying, confirming):
        assert refusal(change(api, tenant, form_id, fields=others)) == (400, [("fields", "email_field_required")])
    without_topic = [field for field in FIELDS if field["name"] != "topic"]
    assert refusal(change(api, tenant, replying, fields=without_topic)) == (400, [("fields", "unknown_name")])
    assert change(api, tenant, replying, reply=None, fields=others).status == 200
    assert change(api, tenant, confirming, confirmation=False, fields=[]).status == 200


def test_other_change__of_a_form_that_answers__passes(api: Client) -> None:
    tenant = make_tenant()
    assert change(api, tenant, answering_form(tenant, confirmation=True), name="Renamed").status == 200


LINK = {"subject": "Claim it at evil.example/claim"}


@pytest.mark.parametrize(
    ("values", "field"),
    first_on_both(
        [
            ({"text": "Log in at https://evil.example/login now"}, "reply.text"),
            (LINK, "reply.subject"),
            ({"text": "evil{{ data.topic }}.example"}, "reply.text"),
            ({"text": "{{ data.topic }}.example"}, "reply.text"),
            ({"text": 'see {{ data.name | default: "evil.example" }}'}, "reply.text"),
            ({"text": "evil\u00ad.example"}, "reply.text"),
        ]
    ),
)
def test_reply__with_a_web_address_on_free__needs_confirmation(api: Client, values: dict[str, Any], field: str) -> None:
    tenant = make_tenant(Plan.FREE)
    form_id, reply = answering_form(tenant, reply=None), {**REPLY, **values}
    refused = (400, [(field, "link_not_allowed")])

    assert refusal(change(api, tenant, form_id, reply=reply)) == refused
    assert change(api, tenant, form_id, reply={**reply, "enabled": False}).status == 200
    assert refusal(change(api, tenant, form_id, reply=reply, confirmation=False)) == refused
    assert change(api, tenant, form_id, reply=reply, confirmation=True).status == 200
    assert refusal(change(api, tenant, form_id, confirmation=False)) == refused
    assert change(api, tenant, form_id, confirmation=False, reply=None).status == 200


def test_reply__with_a_web_address_on_a_paid_plan__needs_no_confirmation__and_a_downgrade_keeps_the_form_usable(
    api: Client,
) -> None:
    tenant = make_tenant(Plan.PRO)
    form_id = answering_form(tenant, reply=None)
    assert change(api, tenant, form_id, reply={**REPLY, **LINK}).status == 200
    tenant.organization.plan = Plan.FREE
    tenant.organization.save(update_fields=["plan"])

    assert change(api, tenant, form_id, name="Renamed", fields=[*FIELDS, text_field("more")]).status == 200
    assert change(api, tenant, form_id, reply={**REPLY, **LINK}).status == 200  # it is no change
    assert refusal(change(api, tenant, form_id, reply={**REPLY, **LINK, "enabled": True, "text": "Another text."})) == (
        400,
        [("reply.subject", "link_not_allowed")],
    )
    form = Form.objects.get(pk=decode_id(Prefix.FORM, form_id))
    assert (duplicate_form(form).reply, change(api, tenant, form_id, reply=REPLY).status) == (form.reply, 200)
