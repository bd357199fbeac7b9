"""Whom the audit trail names for a command: `--by EMAIL`, else the system's user (docs/contract.md 2.9)."""

import os
import pwd
import secrets
import socket

import pytest

from keys.audit.reading import events_of, narrow, record
from keys.models import AuditEvent, User
from tests.services.application import Application
from tests.support.command_line import complaint, output
from tests.support.tables.databases import first_on_both
from tests.support.tenants import Tenant, make_tenant


def last_event(tenant: Tenant) -> AuditEvent:
    found = AuditEvent.objects.filter(organization=tenant.organization).order_by("-pk").first()
    assert found is not None
    return found


def test_command__without_a_name__is_the_system_user_s_to_operators_and_an_operator_s_to_customers(
    service: Application,
) -> None:
    tenant = make_tenant()
    output(service, "set_plan", tenant.organization.slug, "pro")
    event = last_event(tenant)
    user = pwd.getpwuid(os.getuid()).pw_name
    assert event.actor.startswith("system user ")
    assert event.actor.endswith(f"{user} on {socket.gethostname()}")
    shown = record(event)
    assert (shown["actor"], shown["actorKind"], shown["subject"]) == ("", "operator", "Pro")
    of_operators = narrow(events_of(tenant.organization), since=None, until=None, actor="operator", kind="")
    assert event in of_operators


def test_command__by_an_operator__is_theirs_in_any_case_of_the_address(service: Application) -> None:
    tenant = make_tenant()
    operator = User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com")
    output(service, "suspend_organization", tenant.organization.slug, "--by", operator.email.upper())
    event = last_event(tenant)
    assert (event.action, event.user, event.actor) == ("organization.suspended", operator, operator.email)


@pytest.mark.parametrize("who", first_on_both(["stranger", "owner", "former operator"]))
def test_command__by_someone_without_the_rights__changes_nothing(service: Application, who: str) -> None:
    tenant = make_tenant()
    emails = {"stranger": f"{secrets.token_hex(6)}@example.com", "owner": tenant.owner.email}
    if who == "former operator":
        former = User.objects.create_superuser(f"{secrets.token_hex(6)}@example.com", is_active=False)
        emails[who] = former.email
    told = complaint(service, "suspend_organization", tenant.organization.slug, "--by", emails[who])
    assert f"There is no operator with the address {emails[who]}." in told
    tenant.organization.refresh_from_db()
    assert not tenant.organization.is_suspended
