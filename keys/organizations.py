"""Names, plans and people of organizations. `forms_app.sign_up` creates them."""

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext

from config.api.current_request import current_request
from config.api.errors import Conflict
from config.base.text import clean_name, refuse_web_address
from keys.audit import Actor, record_event
from keys.audit.changes import changes, values_of
from keys.issuer_sessions import issuer_of_login
from keys.models import Identity, Organization, User
from keys.plans import Plan

TERMS = ("plan", "rate_limit", "storage_limit")


def parse_plan(text: str) -> Plan:
    """Return the plan with this name, in any case. Raises ValueError, which lists the plans."""
    try:
        return Plan(text.strip().lower())
    except ValueError:
        raise ValueError(f"There is no plan {text!r}. Choose one of {', '.join(Plan.labels)}.") from None


def set_plan(
    organization: Organization,
    plan: Plan,
    *,
    by: Actor,
    rate_limit: int | None = None,
    storage_limit: int | None = None,
) -> None:
    """
    Change the plan of an organization.

    For Enterprise only: `rate_limit`, custom requests per hour; `storage_limit`, custom stored bytes.
    """
    for name, limit in (("rate", rate_limit), ("storage", storage_limit)):
        if limit is not None and (limit < 1 or plan != Plan.ENTERPRISE):
            raise ValueError(f"A custom {name} limit must be at least 1 and requires the Enterprise plan.")
    with transaction.atomic():
        before = values_of(Organization.objects.get(pk=organization.pk), *TERMS)
        organization.plan = plan
        organization.rate_limit = rate_limit
        organization.storage_limit = storage_limit
        organization.save(update_fields=TERMS)
        found = changes(before, values_of(organization, *TERMS))
        record_event(organization=organization, by=by, action="plan.changed", subject=plan.label, changes=found)


def rename_organization(organization: Organization, name: str, *, by: Actor) -> None:
    """
    Rename an organization. Its slug does not change, so that links to it keep working.

    Raises ValueError for a name that is empty, too long, or holds a web address.
    """
    name = clean_name(name).strip()
    longest = Organization._meta.get_field("name").max_length or 0
    if not 0 < len(name) <= longest:
        raise ValueError(gettext("An organization's name must have 1 to %(most)s characters.") % {"most": longest})
    if name == organization.name:
        return
    refuse_web_address(name)
    old, organization.name = organization.name, name
    with transaction.atomic():
        organization.save(update_fields=["name"])
        record_event(
            organization=organization,
            by=by,
            action="organization.renamed",
            subject=f"{old} is now {name}",
            changes=changes({"name": old}, {"name": name}),
        )


def has_second_step(user: User) -> bool:
    """Return whether a login of this user takes more than the password, or the issuer began this session instead."""
    if settings.OIDC_IS_SECOND_STEP and issuer_of_login(current_request(), user):
        return True
    return bool(Authenticator.objects.filter(user=user).exclude(type=Authenticator.Type.RECOVERY_CODES).exists())


def logins_have_second_step() -> Q:
    """Return the condition of memberships whose user has a second step at each login: an own one, or the issuer's."""
    own = Authenticator.objects.exclude(type=Authenticator.Type.RECOVERY_CODES).filter(user=OuterRef("user"))
    if not settings.OIDC_IS_SECOND_STEP:
        return Q(Exists(own))
    linked = Identity.objects.filter(user=OuterRef("user"), issuer=settings.OIDC_ISSUER)
    if not settings.OIDC_ONLY:
        linked = linked.filter(user__password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return Q(Exists(own)) | Q(Exists(linked))


def demand_second_step(organization: Organization, demanded: bool, *, by: User) -> None:
    """
    Set whether members of an organization need a second step.

    Raises Conflict if `by` has none: nobody could undo it then.
    """
    if demanded and not has_second_step(by):
        raise Conflict(gettext("Add a passkey or an authenticator app to your own account first."))
    if demanded == organization.second_step_required:
        return
    organization.second_step_required = demanded
    with transaction.atomic():
        organization.save(update_fields=["second_step_required"])
        record_event(
            organization=organization,
            by=by,
            action="organization.second_step_required" if demanded else "organization.second_step_optional",
            subject=organization.name,
            changes={"second_step_required": [not demanded, demanded]},
        )
