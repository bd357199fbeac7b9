"""Every screen of the dashboard with something on it: what axe looks at, and what `make screenshots` takes."""

import datetime as dt
import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.text import slugify

from config.base.times import now
from forms_app.actions import archive_form, change_recipients
from forms_app.models import Form, OptOut
from keys.access_keys import issue_key
from keys.invitations import invite
from keys.models import AccessKey, Membership, Organization, Role, User
from keys.plans import Plan
from submissions.models import Consent, Refusal, Submission, Tally
from tests.support.browser import member_of, person_of
from tests.support.deliveries import make_delivery
from tests.support.rows import row
from tests.support.tables.dashboard_table import IN_ORGANIZATION, Row
from tests.support.tenants import Tenant, make_tenant
from webhooks.kinds.registry import KINDS
from webhooks.models import Attempt, Receiver
from webhooks.receivers.destinations import add_destination

NAMES = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Katherine Johnson", "Edsger Dijkstra", "Barbara Liskov")
MESSAGES = (
    "Could you tell me what the Pro plan costs for a school?",
    "The link on your pricing page leads nowhere.",
    "We would like to order forty of the small ones, blue if you have them.",
    "Thank you, that was quick!",
    "Do you deliver to Iceland?",
)
CONTACT = [
    {"name": "name", "label": "Name", "type": "Text", "required": True},
    {"name": "email", "label": "Email", "type": "Email", "required": True},
    {
        "name": "topic",
        "label": "Topic",
        "type": "Select",
        "required": False,
        "options": ["Order", "Question", "Praise"],
    },
    {"name": "message", "label": "Message", "type": "Textarea", "required": True},
]


@dataclass(frozen=True)
class Furnished:
    """An organization in which something has happened."""

    tenant: Tenant
    form: Form
    draft: Form
    archived: Form
    submission: Submission
    unconfirmed: Submission
    webhook: Receiver
    destination: Receiver
    key: AccessKey
    member: Membership
    invitation_token: str

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield `(name, path)` of every screen of a logged-in user."""
        slug = self.tenant.organization.slug
        ids: dict[str, dict[str, Any]] = {
            "form": {"form_id": self.form.public_id},
            "key": {"key_id": self.key.public_id},
            "webhook": {"receiver_id": self.webhook.public_id},
            "destination": {"receiver_id": self.destination.public_id},
            "submission": {"submission_id": self.submission.public_id},
            "member": {"member_id": self.member.pk},
        }
        for name, thing in SCREENS:
            yield name, reverse(f"dashboard:{name}", kwargs={"slug": slug, **ids.get(thing, {})})
        home = reverse("dashboard:overview", args=[slug])
        yield "form-erase", f"{home}forms/{self.archived.public_id}/erase"
        yield "form-draft", f"{home}forms/{self.draft.public_id}"
        yield "form-draft-build", f"{home}forms/{self.draft.public_id}/build"
        yield "forms-archived", f"{home}forms?status=archived"
        yield "submissions-form", f"{home}submissions?form={self.form.public_id}"
        yield "submissions-spam", f"{home}submissions?spam=true"
        yield "submissions-unconfirmed", f"{home}submissions?unconfirmed=on"
        yield "submission-unconfirmed", f"{home}submissions/{self.unconfirmed.public_id}"
        yield "submissions-nothing", f"{home}submissions?q=nothing+of+this"
        webhook = f"{home}destinations/{self.webhook.public_id}"
        yield from (("webhook", webhook), ("webhook-edit", f"{webhook}/edit"))
        for kind in ("webhook", "slack", "http", "google_sheets"):
            yield f"destination-new-{kind}", f"{home}destinations/new/{kind}"
        yield "deliveries-undelivered", f"{home}deliveries?status=undelivered"
        yield "not-found", f"{home}nothing"
        yield from (("account", "/dashboard/account"), ("organization-new", "/dashboard/organizations/new"))
        yield from (("two-factor", "/account/2fa/"), ("email", "/account/email/"))
        yield from (("passkey-add", "/account/2fa/webauthn/add/"), ("invitations", "/dashboard/invitations"))


FRAGMENTS = {"submissions-live"}
# Every page without an object in its address comes from the table of addresses.
SCREENS = [
    *((name, "") for name, it in IN_ORGANIZATION.items() if it.get and it.thing is Row.thing and name not in FRAGMENTS),
    *(
        (f"form{part}", "form")
        for part in ("", "-build", "-html", "-page", "-settings", "-spam", "-replies", "-notifications", "-archive")
    ),
    *((f"destination{part}", "webhook") for part in ("-rotate", "-replay")),
    *((f"destination{part}", "destination") for part in ("", "-edit", "-delete")),
    *((name, "key") for name in ("key-regenerate", "key-revoke")),
    ("submission", "submission"),
    ("member-remove", "member"),
]
ENTRANCES = [
    ("login", "/account/login/"),
    ("sign-up", "/account/signup/"),
    ("password", "/account/password/reset/"),
]


def furnish(name: str = "") -> Furnished:
    """Make an organization with a month of submissions, keys, webhooks, members and refusals."""
    tenant = make_named_tenant(name) if name else make_tenant(Plan.PRO)
    organization = tenant.organization
    person_of(tenant)
    form = _form(tenant, "Contact", CONTACT)
    draft, archived = _form(tenant, "Job application", [], published=False), _form(tenant, "Summer fair 2025", [])
    archive_form(archived)
    change_recipients(form, ["team@example.com", "ada@example.com"])
    submissions = list(_month_of(tenant, form))
    webhook = Receiver.objects.create(
        organization=organization, form=form, url="https://hooks.example.com/fieldpost", events=["submission.created"]
    )
    Receiver.objects.create(
        organization=form.organization,
        form=form,
        url="https://shop.example/hook",
        events=["submission.created"],
        status="pending",
    )
    for place, submission in enumerate(submissions[-12:]):
        _tell(organization, webhook, submission, fails=place == 10)
    key, _ = issue_key(organization=organization, name="Website import", by=tenant.owner)
    AccessKey.objects.filter(pk=key.pk).update(
        secret_made_at=now() - dt.timedelta(days=120), last_used_at=now(), browser_seen_at=None if name else now()
    )
    member = Membership.objects.get(user=member_of(organization, "member"))
    invited = f"grace-{secrets.token_hex(3)}@example.com"
    _, token = invite(organization=organization, email=invited, role=Role.ADMIN, by=tenant.owner)
    if not name:  # the README shows an overview without warnings
        inviting = make_tenant()
        invite(organization=inviting.organization, email=tenant.owner.email, role=Role.MEMBER, by=inviting.owner)
    _refuse(organization, form)
    destination = _destinations_of(organization, form, is_well=bool(name))
    unconfirmed = _answers_of(form)
    return Furnished(
        tenant, form, draft, archived, submissions[-2], unconfirmed, webhook, destination, key, member, token
    )


def make_named_tenant(name: str) -> Tenant:
    """Return a fresh organization on Pro with this name, whose owner is Ada."""
    tenant = make_tenant(Plan.PRO)
    Organization.objects.filter(pk=tenant.organization.pk).update(name=name, slug=slugify(name))
    User.objects.filter(pk=tenant.owner.pk).update(email=f"ada@{slugify(name)}.example")
    tenant.organization.refresh_from_db()
    tenant.owner.refresh_from_db()
    return tenant


def _destinations_of(organization: Organization, form: Form, *, is_well: bool) -> Receiver:
    """Make one that needs attention unless it is well, and two others."""
    of: dict[str, Any] = {"organization": organization}
    sales = {"url": "https://hooks.slack.com/services/T0001/B0001/abcdefgh"}
    found = add_destination(**of, form=form, kind="slack", name="Sales team", config=sales)
    add_destination(
        **of, form=None, kind="ntfy", name="My phone", config={"url": "https://ntfy.example/contact-8fK2qLw0"}
    )
    body = {"who": "{{ data.name }}", "note": '{{ data.message | default: "-" | truncate: 80 }}'}
    crm = {"url": "https://crm.example/contacts", "method": "POST", "headers": {}, "template": body}
    add_destination(**of, form=form, kind="http", name="CRM", config=crm)
    if not is_well:
        found.status, found.disabled_reason = Receiver.Status.NEEDS_ATTENTION, KINDS["slack"].reason
        found.save()
    return found


def _answers_of(form: Form) -> Submission:
    """Let a form reply and ask for confirmation; return a submission that waits for it."""
    text = 'Dear {{ data.name | default: "friend" }},\n\nthank you for your {{ data.topic }}. We answer within a day.'
    reply = {"enabled": True, "subject": "We have your {{ data.topic }}", "text": text}
    Form.objects.filter(pk=form.pk).update(spam_protection={"proof_of_work": True}, reply=reply, confirmation=True)
    OptOut.objects.create(organization=form.organization, email="grace@example.com")
    made = Submission.objects.create(
        organization=form.organization,
        form=form,
        data={"name": "Ada Lovelace", "email": "ada@example.com", "message": "Please add me."},
        search_text="ada",
        created_at=now(),
        held=Submission.Held.CONFIRMATION,
        dispatched_at=now(),
        counted_as=Submission.CountedAs.HELD,
    )
    question = "Confirm what you sent to Analytical Engines\nConfirm that it was you."
    Consent.objects.create(
        submission=made,
        email="ada@example.com",
        text=question,
        text_sha256=hashlib.sha256(question.encode()).hexdigest(),
        asked_at=now(),
    )
    return made


def _form(tenant: Tenant, name: str, fields: list[dict[str, object]], *, published: bool = True) -> Form:
    public_id = tenant.form(name=name, fields=fields, published=published)
    return next(form for form in Form.objects.filter(organization=tenant.organization) if form.public_id == public_id)


def _month_of(tenant: Tenant, form: Form) -> Iterator[Submission]:
    moment = now()
    made = []
    for number in range(240):
        at = moment - dt.timedelta(hours=3 * (240 - number) + number % 5, minutes=7 * number % 60)
        name = NAMES[number % len(NAMES)]
        values = {
            "name": name,
            "email": f"{name.split()[0].lower()}@example.com",
            "topic": ("Order", "Question")[number % 2],
        }
        values["message"] = MESSAGES[number % len(MESSAGES)]
        one = row(tenant, form.public_id, values, at, spam=number % 11 == 0)
        one.meta = {"ip": "203.0.113.7", "userAgent": "Mozilla/5.0", "origin": "https://shop.example", "referer": None}
        one.dispatched_at = one.created_at + dt.timedelta(milliseconds=300)
        one.counted_as = "spam" if one.spam else "kept"
        made.append(one)
    Submission.objects.bulk_create(made)
    hours: dict[dt.datetime, list[Submission]] = {}
    for one in made:
        hours.setdefault(one.created_at.replace(minute=0, second=0, microsecond=0), []).append(one)
    for hour, rows in hours.items():
        spam = sum(one.spam for one in rows)
        Tally.objects.create(
            form=form, hour=hour, received=len(rows), kept=len(rows) - spam, spam=spam, delivered=len(rows) - spam
        )
    yield from (one for one in made if not one.spam)


def _tell(organization: Organization, webhook: Receiver, submission: Submission, *, fails: bool) -> None:
    delivery = make_delivery(
        webhook,
        submission=submission,
        organization=organization,
        status="failed" if fails else "delivered",
        created_at=submission.created_at + dt.timedelta(seconds=1),
        finished_at=submission.created_at + dt.timedelta(seconds=75 if fails else 2),
        attempt_count=2 if fails else 1,
    )
    answers = [(503, "http_error", "Service Unavailable")] * 2 if fails else [(200, "", "ok")]
    for number, (status, error, answer) in enumerate(answers):
        at = submission.created_at + dt.timedelta(seconds=1 + 70 * number)
        Attempt.objects.create(
            delivery=delivery, started_at=at, status=status, duration_ms=84, error=error, response=answer
        )


def _refuse(organization: Organization, form: Form) -> None:
    kinds: list[dict[str, Any]] = [
        {"code": "origin_not_allowed", "origin": "https://staging.shop.example", "count": 14},
        {
            "code": "validation_error",
            "detail_code": "required",
            "field": "email",
            "message": "Email is required.",
            "count": 3,
        },
        {"code": "rate_limited", "detail_code": "burst", "origin": "https://shop.example"},
        {"code": "not_found", "origin": "https://shop.example", "count": 2, "form": None},
    ]
    for number, kind in enumerate(kinds):
        at = now() - dt.timedelta(minutes=20 * (number + 1))
        hour = at.replace(minute=0, second=0, microsecond=0)
        row = {"form": form, "hour": hour, "first_at": at, "last_at": at, "fingerprint": str(number), **kind}
        Refusal.objects.create(organization=organization, **row)
