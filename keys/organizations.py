"""Plans of organizations and the people in them. Making an organization whole is `forms_app.organizations`' work."""

from django.db import transaction

from config.text import clean_name
from keys.audit import Actor, record_event
from keys.models import Organization, User
from keys.plans import Plan


class UnknownPlan(ValueError):
    """No plan has this name; the message lists those that exist."""


def parse_plan(text: str) -> Plan:
    """Return the plan of a name in any case. Raises UnknownPlan."""
    try:
        return Plan(text.strip().lower())
    except ValueError:
        raise UnknownPlan(f"There is no plan {text!r}. Choose one of {', '.join(Plan.labels)}.") from None


def set_plan(organization: Organization, plan: Plan, *, by: Actor, rate_limit: int | None = None) -> None:
    """Move an organization to a plan; `rate_limit` is the custom number of an Enterprise one, requests an hour."""
    if rate_limit is not None and (rate_limit < 1 or plan != Plan.ENTERPRISE):
        raise ValueError("A rate limit of its own is 1 or more, and for the Enterprise plan alone.")
    organization.plan = plan
    organization.rate_limit = rate_limit
    with transaction.atomic():
        organization.save(update_fields=["plan", "rate_limit"])
        record_event(organization=organization, by=by, action="plan.changed", subject=plan.label)


def find_or_create_person(email: str) -> User:
    """Return the user of an address; an unknown one is made without a password and can set one by mail."""
    return User.objects.filter(email=email.lower()).first() or User.objects.create_user(email)


def rename_organization(organization: Organization, name: str, *, by: Actor) -> None:
    """
    Call an organization something else. Its slug stays, so that links keep leading to it.

    Raises ValueError for a name that is empty or too long.
    """
    name = clean_name(name).strip()
    longest = Organization._meta.get_field("name").max_length or 0
    if not 0 < len(name) <= longest:
        raise ValueError(f"An organization's name has 1 to {longest} characters.")
    if name == organization.name:
        return
    old, organization.name = organization.name, name
    with transaction.atomic():
        organization.save(update_fields=["name"])
        record_event(organization=organization, by=by, action="organization.renamed", subject=f"{old} is now {name}")
