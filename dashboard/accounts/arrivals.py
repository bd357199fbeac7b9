"""
People whose address somebody else vouches for: an OpenID provider, or a proxy that has logged them in.

Such an address leads to the account that has verified it here. A new one makes an account, for an invitation or in
OIDC_ORGANIZATION. It can set a password by mail, as every account can, but has none.
"""

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from config.api.errors import Conflict
from config.base.text import clean_name, name_for_strangers
from dashboard.accounts.languages import language_now
from keys.audit import record_event
from keys.invitations import join_as_new_person
from keys.members import add_new_person
from keys.models import Invitation, Organization, Role, User

SHOWN_OF_A_ROLE = 100  # characters of an unknown one in the audit trail; a provider may send anything


class NotLetIn(Exception):
    """`str()` of it says to the person why, and what to do."""


def refuse_arrival(request: HttpRequest, refusal: NotLetIn) -> HttpResponse:
    """Return the page for a person who is not let in."""
    return render(request, "account/not_let_in.html", {"message": str(refusal)}, status=403)


def let_in(email: str, *, is_verified: bool, name: str = "", role: object = None) -> User:
    """
    Return the account of a person who has logged in elsewhere; it is made if they may join.

    `is_verified`: whether the address is, there. `role`: what was said about the role in OIDC_ORGANIZATION, of any type
    and size; None if nothing was. The caller logs in. Raises NotLetIn.
    """
    email = _usable(email)
    if not is_verified:
        text = gettext("Your address %(email)s is not confirmed where you logged in. Confirm it there, then try again.")
        raise NotLetIn(text % {"email": email})
    if user := User.objects.filter(email=email).first():
        return _known(user)
    try:
        with transaction.atomic():
            return _new(email, name=_presentable(name), role=role)
    except (IntegrityError, Conflict):  # somebody was faster: another first login, a sign-up, a revoked invitation
        if user := User.objects.filter(email=email).first():
            return _known(user)
        raise NotLetIn(gettext("Your invitation has changed in the meantime. Try again.")) from None


def _usable(email: str) -> str:
    """Return an address in the case that we store. Letters outside ASCII could turn into those of somebody else."""
    email = email.strip()
    try:
        validate_email(email)
    except ValidationError:
        email = ""
    if len(email) > 254 or not email.rpartition("@")[0].isascii() or not email:
        text = gettext("Your login came without a usable email address. Ask the people who run it to send yours.")
        raise NotLetIn(text)
    return email.lower()


def _presentable(name: str) -> str:
    longest = User._meta.get_field("name").max_length
    return name_for_strangers(clean_name(name).strip(), "")[:longest]


def _known(user: User) -> User:
    if not user.is_active:
        text = gettext("The account of %(email)s is closed. Ask the operator of this service to open it.")
        raise NotLetIn(text % {"email": user.email})
    if not EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists():
        text = gettext(
            "There is an account for %(email)s, but nobody has confirmed here that the address is theirs. Log in with "
            "its password, confirm the address, and next time this way works."
        )
        raise NotLetIn(text % {"email": user.email})
    return user


def _new(email: str, *, name: str, role: object) -> User:
    """Make the account. An invitation to the organization that new people join is stronger than what `role` says."""
    organization = Organization.objects.filter(slug=settings.OIDC_ORGANIZATION).first()
    invitations = [each for each in _invitations(email) if organization in (None, each.organization)]
    if invitations:
        user = join_as_new_person(invitations[0], name=name, language=language_now())
    elif organization is not None:
        user = add_new_person(organization, email=email, name=name, role=_role(role), language=language_now())
        _note_unknown(organization, user, role)
    else:
        raise NotLetIn(_without_invitation(email))
    record_event(organization=None, by=user, action="account.signed_up", subject="")
    return user


def _invitations(email: str) -> list[Invitation]:
    """Return the invitations that let this person in, oldest first."""
    found = Invitation.objects.filter(email=email).select_related("organization", "invited_by")
    # One to the organization that new people join counts where SIGN_UP is closed, too: they would join it anyway.
    return [
        each
        for each in found.order_by("created_at", "pk")
        if each.is_open and (each.takes_new_people or each.organization.slug == settings.OIDC_ORGANIZATION)
    ]


def _role(said: object) -> Role:
    return Role(said) if isinstance(said, str) and said in Role.values else Role(settings.OIDC_DEFAULT_ROLE)


def _note_unknown(organization: Organization, user: User, role: object) -> None:
    if role is None or (isinstance(role, str) and role in Role.values):
        return
    subject = f"{user.email} as {settings.OIDC_DEFAULT_ROLE}, not {clean_name(repr(role)[:SHOWN_OF_A_ROLE])}"
    record_event(organization=organization, by=user, action="member.role_unknown", subject=subject)


def _without_invitation(email: str) -> str:
    if settings.SIGN_UP == "closed":
        text = gettext("There is no account for %(email)s. Ask the operator of this service for one.")
    else:
        text = gettext(
            "There is no account for %(email)s. Ask a member of your organization to invite this address, then try "
            "again."
        )
    return text % {"email": email}
