"""The terms of each plan (docs/contract.md 2)."""

import dataclasses

import pytest

from keys.models import Organization
from keys.organizations import parse_plan
from keys.plans import MIB, TERMS, Plan, Terms


def test_terms__of_every_plan__are_those_promised() -> None:
    expected = {
        "free": Terms(hourly_requests=100, scoped_keys=False, stored_bytes=100 * MIB, forms=100),
        "pro": Terms(hourly_requests=10_000, scoped_keys=False, stored_bytes=10_240 * MIB, forms=1_000),
        "enterprise": Terms(hourly_requests=100_000, scoped_keys=True, stored_bytes=1_048_576 * MIB, forms=1_000),
    }
    assert expected == TERMS


def test_terms__changed_at_run_time__refuse() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TERMS[Plan.FREE].hourly_requests = 1_000_000  # type: ignore[misc]  # on purpose


@pytest.mark.parametrize(
    ("plan", "custom", "limit"),
    [
        ("free", None, 100),
        ("free", 5_000, 100),
        ("pro", None, 10_000),
        ("pro", 50_000, 10_000),
        ("enterprise", None, 100_000),
        ("enterprise", 1, 1),
        ("enterprise", 2_500_000, 2_500_000),
    ],
)
def test_hourly_limit__custom_number__is_for_enterprise_alone(plan: str, custom: int | None, limit: int) -> None:
    assert Organization(name="Test", slug="test", plan=plan, rate_limit=custom).hourly_limit == limit


@pytest.mark.parametrize("plan", list(Plan))
def test_organization__of_a_plan__has_its_terms(plan: Plan) -> None:
    assert Organization(name="Test", slug="test", plan=plan).terms == TERMS[plan]


@pytest.mark.parametrize(
    ("plan", "custom", "allowance"),
    [("free", None, 100 * MIB), ("pro", 5, 10_240 * MIB), ("enterprise", None, 2**40), ("enterprise", 5, 5)],
)
def test_storage_allowance__custom_number__is_for_enterprise_alone(
    plan: str, custom: int | None, allowance: int
) -> None:
    assert Organization(name="Test", slug="test", plan=plan, storage_limit=custom).storage_allowance == allowance


def test_organization__new__is_free() -> None:
    assert Organization(name="Test", slug="test").hourly_limit == 100


@pytest.mark.parametrize(
    ("text", "plan"),
    [("Free", Plan.FREE), ("FREE", Plan.FREE), ("pRo", Plan.PRO), (" enterprise ", Plan.ENTERPRISE)],
)
def test_parse_plan__name_in_any_case__is_the_plan(text: str, plan: Plan) -> None:
    assert parse_plan(text) is plan


@pytest.mark.parametrize("text", ["", "gold", "free plan", "enterprise1"])
def test_parse_plan__unknown_name__lists_those_that_exist(text: str) -> None:
    with pytest.raises(ValueError, match="Free, Pro, Enterprise"):
        parse_plan(text)
