"""Creates organizations, for the command and for sign-up."""

from itertools import count

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import get_language, gettext

from config.base.text import clean_name, refuse_web_address
from forms_app.actions import create_form
from forms_app.models import ENGLISH, Form
from keys.access_keys import issue_key
from keys.audit import Actor, record_event
from keys.models import AccessKey, AuditEvent, Membership, Organization, Role, User
from keys.plans import Plan

MAX_NAME = 200  # characters
MAX_SLUG = 80  # characters
DEFAULT_FORM_NAME = "Inbox"
MOST_ON_FREE = 3  # organizations on the Free plan that one account makes in the dashboard
CREATED = "organization.created"  # in the audit trail
PUBLISHABLE_KEY_NAMES = {AccessKey.Mode.LIVE: "For web pages", AccessKey.Mode.TEST: "For web pages, test data"}


class SlugTaken(ValueError):
    """Another organization has this slug."""


def create_organization(
    *,
    name: str,
    owner: User,
    plan: Plan | None = None,
    by: Actor = None,
    number_taken_slugs: bool = False,
    language: str = ENGLISH,
) -> Organization:
    """
    Create an organization with its owner, a published default form, and a publishable key of each mode.

    The slug is made from the name. If it is taken, adds a number, such as `acme-2`, with `number_taken_slugs`, else
    raises SlugTaken. `plan`: DEFAULT_PLAN without it. `language`: of its default form.

    Raises ValueError for a name that is empty, too long, or holds a web address.
    """
    name = clean_name(name).strip()
    if not 0 < len(name) <= MAX_NAME:
        raise ValueError(gettext("An organization's name must have 1 to %(most)s characters.") % {"most": MAX_NAME})
    refuse_web_address(name)
    slug = slugify(name)[:MAX_SLUG] or "organization"
    if number_taken_slugs:
        slug = _free_slug(slug)
    try:
        with transaction.atomic():
            organization = Organization.objects.create(
                name=name, slug=slug, plan=plan or settings.DEFAULT_PLAN, stored_bytes=0
            )
            Membership.objects.create(organization=organization, user=owner, role=Role.OWNER)
            create_form(
                organization=organization,
                name=DEFAULT_FORM_NAME,
                status=Form.Status.PUBLISHED,
                is_default=True,
                language=language,
            )
            for mode, key_name in PUBLISHABLE_KEY_NAMES.items():
                kind = AccessKey.Kind.PUBLISHABLE
                issue_key(organization=organization, name=key_name, by=by, kind=kind, mode=mode)
            record_event(organization=organization, by=by, action=CREATED, subject=name)
    except IntegrityError:
        if Organization.objects.filter(slug=slug).exists():
            raise SlugTaken(f"An organization with the slug {slug!r} already exists. Choose another name.") from None
        raise
    return organization


def create_own_organization(*, name: str, user: User) -> Organization:
    """
    Create an organization for a user of the dashboard.

    Raises ValueError as `create_organization` does, and for a fourth organization on Free.
    """
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # concurrent requests are counted one after another
        made = AuditEvent.objects.filter(user=user, action=CREATED, organization__plan=Plan.FREE)
        if made.count() >= MOST_ON_FREE:
            text = gettext(
                "You have made %(most)s organizations on the Free plan, the most for one account. Delete one first."
            )
            raise ValueError(text % {"most": MOST_ON_FREE})
        language = get_language() or ENGLISH
        return create_organization(name=name, owner=user, by=user, number_taken_slugs=True, language=language)


def _free_slug(slug: str) -> str:
    """Return the slug, else the first free one with a number. Of two concurrent callers, one gets SlugTaken."""
    start = f"{slug[: MAX_SLUG - 8]}-"
    taken = set(Organization.objects.filter(slug__startswith=start).values_list("slug", flat=True))
    if not Organization.objects.filter(slug=slug).exists():
        return slug
    return next(f"{start}{number}" for number in count(2) if f"{start}{number}" not in taken)
