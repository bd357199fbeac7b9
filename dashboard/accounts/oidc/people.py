"""Whose account a login at the issuer opens: that of the same issuer and `sub`, which a first login links."""

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from dashboard.accounts.arrivals import NotLetIn, let_in
from dashboard.accounts.oidc.flow import Answer
from dashboard.accounts.oidc.step_up import has_identity
from keys.audit import record_event
from keys.models import Identity, User


def find_person(answer: Answer) -> User:
    """Return the account; a first login links or makes one. Raises NotLetIn."""
    subject = answer.claims["sub"]
    known = Identity.objects.select_related("user").filter(issuer=settings.OIDC_ISSUER, subject=subject).first()
    if known is not None:
        return known.user
    email, is_verified = _address(answer)
    role = _claim(answer, settings.OIDC_ROLE_CLAIM) if settings.OIDC_ROLE_CLAIM else None
    name = _claim(answer, "name")
    user = let_in(email, is_verified=is_verified, name=name if isinstance(name, str) else "", role=role)
    _link(user, subject)
    return user


def _link(user: User, subject: str) -> None:
    """Link an account, once. Another `sub` with its address could be another person, who got the address later."""
    try:
        with transaction.atomic():
            Identity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=subject)
            record_event(organization=None, by=user, action="account.identity_linked", subject=settings.OIDC_ISSUER)
    except IntegrityError:
        if has_identity(user, subject):  # by another first login at the same moment
            return
        text = gettext(
            "The account of %(email)s belongs to another login at %(name)s. Log in with that one, or ask the operator "
            "of this service to remove it from the account."
        )
        raise NotLetIn(text % {"email": user.email, "name": settings.OIDC_NAME}) from None


def _address(answer: Answer) -> tuple[str, bool]:
    """Return address and whether it is verified, both from the same source; where `email_verified` is, if anywhere."""
    sources = [each for each in answer if isinstance(each.get("email"), str)]
    source = next((each for each in sources if "email_verified" in each), sources[0] if sources else {})
    is_absent = "email_verified" not in source and settings.OIDC_TRUST_EMAIL
    return source.get("email", ""), source.get("email_verified") is True or is_absent


def _claim(answer: Answer, name: str) -> Any:
    return answer.claims.get(name, answer.userinfo.get(name))
