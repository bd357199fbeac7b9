"""Names, plans and people of organizations. `forms_app.organizations` creates them."""

from django.db import transaction

from config.text import clean_name
from keys.audit import Actor, record_event
from keys.models import Organization, User
from keys.plans import Plan


class UnknownPlan(ValueError):
    """No plan has this name. The message lists the plans."""


def parse_plan(text: str) -> Plan:
    """Return the plan with this name, in any case. Raises UnknownPlan."""
    try:
        return Plan(text.strip().lower())
    except ValueError:
        raise UnknownPlan(f"There is no plan {text!r}. Choose one of {', '.join(Plan.labels)}.") from None


def set_plan(organization: Organization, plan: Plan, *, by: Actor, rate_limit: int | None = None) -> None:
    """Change the plan of an organization; `rate_limit`: custom requests per hour, for Enterprise only."""
    if rate_limit is not None and (rate_limit < 1 or plan != Plan.ENTERPRISE):
        raise ValueError("A custom rate limit must be at least 1 and requires the Enterprise plan.")
    organization.plan = plan
    organization.rate_limit = rate_limit
    with transaction.atomic():
        organization.save(update_fields=["plan", "rate_limit"])
        record_event(organization=organization, by=by, action="plan.changed", subject=plan.label)


def find_or_create_person(email: str) -> User:
    """Return the user with this address. Creates an unknown one, who can set a password by mail."""
    return User.objects.filter(email=email.lower()).first() or User.objects.create_user(email)


def rename_organization(organization: Organization, name: str, *, by: Actor) -> None:
    """
    Rename an organization. Its slug does not change, so that links to it keep working.

    Raises ValueError for a name that is empty or too long.
    """
    name = clean_name(name).strip()
    longest = Organization._meta.get_field("name").max_length or 0
    if not 0 < len(name) <= longest:
        raise ValueError(f"An organization's name must have 1 to {longest} characters.")
    if name == organization.name:
        return
    old, organization.name = organization.name, name
    with transaction.atomic():
        organization.save(update_fields=["name"])
        record_event(organization=organization, by=by, action="organization.renamed", subject=f"{old} is now {name}")
