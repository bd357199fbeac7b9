"""Proof of work by ALTCHA: who has to send it, and that each is valid once (docs/contract.md 5.15)."""

import base64
import json
from typing import Any

import altcha
import pytest

from tests.services.client import Answer, Client
from tests.support.hosted_posts import WANTS_JSON, ask, solve
from tests.support.submitting import records, submit
from tests.support.tenants import make_tenant

PROTECTED = {"proof_of_work": True}
PAGE = {"Origin": "https://shop.example"}


def codes(answer: Answer) -> tuple[int, list[str]]:
    return answer.status, [detail["code"] for detail in answer.json().get("details", [])]


REQUIRED = (400, ["proof_of_work_required"])


def test_page__without_a_proof__is_told_what_is_missing(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)

    assert codes(submit(api, tenant.publishable, form_id, {"a": "1"})) == REQUIRED
    assert codes(submit(api, tenant.key, form_id, {"a": "1"}, **PAGE)) == REQUIRED
    error = ask(api, form_id, {"a": "1"}).json()["errors"][0]
    assert (error["code"], "field" in error, "_altcha" in error["message"]) == ("proof_of_work_required", False, False)
    assert records(api, tenant, form_id) == []


@pytest.mark.parametrize("field", ["_altcha", "altcha"])
def test_solved_challenge__is_good_once(api: Client, field: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)
    proof = solve(api)

    assert submit(api, tenant.publishable, form_id, {"a": "1", field: proof}).status == 201
    assert codes(submit(api, tenant.publishable, form_id, {"a": "2", field: proof})) == REQUIRED
    rewritten = base64.b64encode(json.dumps(json.loads(base64.b64decode(proof)), indent=1).encode()).decode()
    assert codes(submit(api, tenant.publishable, form_id, {"a": "3", field: rewritten})) == REQUIRED
    assert [record["data"] for record in records(api, tenant, form_id)] == [{"a": "1"}]


def test_same_request_again__with_its_idempotency_key__is_answered_again(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)
    body = {"a": "1", "_altcha": solve(api)}

    answers = [submit(api, tenant.publishable, form_id, body, Idempotency_Key="k") for _ in range(2)]

    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


def test_proof_of_one_form__with_the_same_idempotency_key__is_used_up_for_others(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    body = {"a": "1", "_altcha": solve(api)}
    forms = [(owner, owner.form(spam_protection=PROTECTED)) for owner in (tenant, tenant, other)]

    answers = [submit(api, owner.publishable, form_id, body, Idempotency_Key="k") for owner, form_id in forms]

    assert [answer.status for answer in answers] == [201, 400, 400]
    assert codes(answers[1]) == codes(answers[2]) == REQUIRED


def test_challenge_of_one_form__solved__is_refused_by_others_and_not_used_up(api: Client) -> None:
    tenant, other = make_tenant(), make_tenant()
    (own, own_id), *others = ((one, one.form(spam_protection=PROTECTED)) for one in (tenant, tenant, other))
    body = {"a": "1", "_altcha": solve(api, own_id)}

    for owner, form_id in others:
        refused = submit(api, owner.publishable, form_id, body)
        assert codes(refused) == REQUIRED
        assert "for another form" in refused.json()["details"][0]["message"]
    assert submit(api, own.publishable, own_id, body).status == 201


def test_challenge_with_a_changed_form__is_refused(api: Client) -> None:
    tenant = make_tenant()
    first, second = (tenant.form(spam_protection=PROTECTED) for _ in range(2))
    proof = base64.b64decode(solve(api, first)).decode()
    moved = base64.b64encode(proof.replace(first, second).encode()).decode()

    assert first in proof
    assert codes(submit(api, tenant.publishable, second, {"a": "1", "_altcha": moved})) == REQUIRED


@pytest.mark.parametrize("purpose", ["login", "x" * 5000, "frm_none"])
def test_challenge_of_no_form__is_refused_by_every_form(api: Client, purpose: str) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)

    assert codes(submit(api, tenant.publishable, form_id, {"a": "1", "_altcha": solve(api, purpose)})) == REQUIRED


def test_server_with_a_secret_key__needs_no_proof(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)

    assert submit(api, tenant.key, form_id, {"a": "1"}).status == 201


def test_form_that_does_not_ask__ignores_what_is_sent(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form()

    assert submit(api, tenant.publishable, form_id, {"a": "1", "_altcha": "nonsense"}).status == 201


def forged(**parameters: Any) -> str:
    """Return a solved challenge with a signature that is not ours."""
    challenge = altcha.create_challenge("SHA-256", 1, counter=5, hmac_secret="theirs", **parameters)
    solution = altcha.solve_challenge(challenge)
    assert solution
    return altcha.Payload(challenge, solution).to_base64()


def test_proofs_that_prove_nothing__are_refused(api: Client) -> None:
    tenant = make_tenant()
    form_id = tenant.form(spam_protection=PROTECTED)
    whole = json.loads(base64.b64decode(solve(api)))
    wrong = {**whole, "solution": {**whole["solution"], "counter": 1}}
    unsigned = {**whole, "challenge": {"parameters": {**whole["challenge"]["parameters"], "keyPrefix": ""}}}
    proofs = ["x", "e30=", "W10=", "bnVsbA==", "x" * 5000, forged()]
    proofs += [base64.b64encode(json.dumps(one).encode()).decode() for one in (wrong, unsigned, [whole], 5)]
    deep = base64.b64encode(b"[" * 2000).decode()

    for proof in [*proofs, deep, ["a", "b"]]:
        with Client(api.port) as somebody:  # each from its own address: bursts are bounded
            assert codes(submit(somebody, tenant.publishable, form_id, {"a": "1", "_altcha": proof})) == REQUIRED, proof
    assert records(api, tenant, form_id) == []


def test_values_in_error__are_told_before_a_proof_is_asked_for(api: Client) -> None:
    tenant = make_tenant()
    field = {"name": "a", "label": "A", "type": "Text", "required": True}
    form_id = tenant.form(spam_protection=PROTECTED, fields=[field])

    assert codes(submit(api, tenant.publishable, form_id, {"b": "1"})) == (400, ["required"])


def test_challenge__is_fresh_each_time_and_open_to_every_origin(api: Client) -> None:
    answers = [api.get("/f/challenge", headers=PAGE | WANTS_JSON) for _ in range(2)]

    assert answers[0].json()["signature"] != answers[1].json()["signature"]
    for answer in answers:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE["Origin"]
        assert answer.json()["parameters"]["algorithm"] == "SHA-256"
