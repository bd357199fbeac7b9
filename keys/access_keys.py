"""Issue, regenerate and revoke access keys. Each takes effect with the next request, on every host."""

import datetime as dt
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.functional import lazy
from django.utils.translation import gettext, gettext_noop

from config.api.errors import Conflict, PlanRequired, Unauthorized, invalid
from config.api.find_owned import still_there
from config.base.times import now
from keys import tokens
from keys.audit import Actor, record_event
from keys.audit.changes import changes, values_of
from keys.models import AccessKey, Organization, Permission, User
from keys.notices import notify_owners

MAX_NAME = 200  # characters
EXPOSED_FOR = dt.timedelta(days=30)  # after a secret key was last sent from a page, its owners are warned
ALL_PERMISSIONS = tuple(Permission.values)


def issue_key(
    *,
    organization: Organization,
    name: str,
    by: Actor,
    permissions: Sequence[str] = ALL_PERMISSIONS,
    admin: bool = False,
    kind: str = AccessKey.Kind.SECRET,
    mode: str = AccessKey.Mode.LIVE,
    expires_on: dt.date | None = None,
) -> tuple[AccessKey, str]:
    """
    Create a key and return its record and its token, which is not stored and so is shown only once.

    A publishable key has no permissions, whatever `permissions` says, and a test key is never administrative. Raises
    ValidationFailed for a date in the past, Unauthorized if `by` is a key with fewer rights than the new one, and
    PlanRequired if a person creates a scoped key that the plan does not include. (The view of the API requires the plan
    for every key.)
    """
    if not 0 < len(name.strip()) <= MAX_NAME:
        raise invalid("name", "invalid", gettext("must have 1 to %(most)s characters.") % {"most": MAX_NAME})
    if expires_on is not None and expires_on < dt.datetime.now(dt.UTC).date():
        raise invalid("expiresAt", "in_the_past", gettext("the date is in the past (UTC). Choose today or later."))
    is_publishable = kind == AccessKey.Kind.PUBLISHABLE
    key = AccessKey(
        organization=organization,
        name=name,
        kind=kind,
        mode=mode,
        admin=admin and not is_publishable and mode == AccessKey.Mode.LIVE,
        permissions=[] if is_publishable else [p for p in ALL_PERMISSIONS if p in permissions],
        expires_on=expires_on,
    )
    refuse_stronger(key, by)
    is_scoped = expires_on is not None or not (is_publishable or set(key.permissions) == set(ALL_PERMISSIONS))
    if isinstance(by, User) and is_scoped and not organization.terms.scoped_keys:
        raise PlanRequired(gettext("Keys with fewer permissions or an expiry date require the Enterprise plan."))
    token = tokens.make_token(publishable=is_publishable, test=key.is_test)
    key.set_token(token)
    with transaction.atomic():
        key.save()
        found = changes({}, values_of(key, "kind", "mode", "admin", "permissions", "expires_on"))
        record_event(organization=organization, by=by, action="key.created", subject=str(key), changes=found)
        _tell_owners(key, by, gettext_noop("New access key: %(key)s"))
    return key, token


def regenerate_key(key: AccessKey, *, by: Actor) -> str:
    """
    Replace the token of a key and return the new one; the old one stops working immediately.

    Raises Conflict for a revoked or expired key, Unauthorized if `by` is a key with fewer rights.
    """
    refuse_stronger(key, by)
    token = tokens.make_token(publishable=key.is_publishable, test=key.is_test)
    with transaction.atomic():
        key = still_there(AccessKey.objects.select_for_update(), key.pk)
        if key.revoked_at:
            raise Conflict(gettext("This key is revoked and cannot be used again. Create a new key instead."))
        if key.is_expired:
            raise Conflict(gettext("This key is expired and cannot be used again. Create a new key instead."))
        old = key.hint
        key.set_token(token)
        key.save(update_fields=["digest", "hint", "publishable_token", "secret_made_at"])
        record_event(
            organization=key.organization,
            by=by,
            action="key.regenerated",
            subject=str(key),
            changes=changes({"hint": old}, {"hint": key.hint}),
        )
        _tell_owners(key, by, gettext_noop("New secret of an access key: %(key)s"))
    return token


def _tell_owners(key: AccessKey, by: Actor, subject: str) -> None:
    """
    Mail the owners about a new secret; `subject` is marked for translation.

    Not for publishable keys, which are public, nor for commands, which operators run.
    """
    if key.is_publishable or by is None:
        return
    named = lazy(lambda: gettext(subject) % {"key": key.name}, str)()
    notify_owners(key.organization, "key.created", subject=named, text=lazy(_secret_text, str)(key, by))


def _secret_text(key: AccessKey, by: Actor) -> str:
    if key.admin:
        may = gettext("It can manage keys.")
    elif key.permissions:
        may = gettext("Its permissions: %(permissions)s.") % {"permissions": ", ".join(key.permissions)}
    else:
        may = gettext("Its permissions: submit only.")
    made = gettext("%(person)s made a secret for the access key %(key)s of %(organization)s.")
    made %= {"person": by, "key": key, "organization": key.organization.name}
    advice = gettext("If you do not know why, revoke the key on the page Access Keys, and look at the audit trail.")
    return f"{made} {may}\n\n{advice}"


def revoke_key(key: AccessKey, *, by: Actor) -> None:
    """
    Revoke a key permanently. Does nothing if it is revoked already.

    Raises Unauthorized if `by` is a key with fewer rights.
    """
    refuse_stronger(key, by)
    with transaction.atomic():
        if AccessKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now()):
            record_event(organization=key.organization, by=by, action="key.revoked", subject=str(key))


def refuse_stronger(key: AccessKey, by: Actor) -> None:
    """
    Raise Unauthorized if `by` is a key with fewer rights than `key`: permissions, the admin flag, or an earlier expiry.

    Expiry counts, because a key that expires tomorrow could otherwise create a successor without an expiry date.
    """
    if not isinstance(by, AccessKey) or by.pk == key.pk:
        return
    outlives = by.expires_on is not None and (key.expires_on is None or key.expires_on > by.expires_on)
    if not set(key.permissions) <= set(by.permissions) or (key.admin and not by.admin) or outlives:
        raise Unauthorized


def exposed_keys(organization: Organization) -> QuerySet[AccessKey]:
    """Return the usable secret keys that a page has sent in the last 30 days, and that are still the same secret."""
    usable = AccessKey.objects.usable().filter(organization=organization)
    recent = usable.filter(browser_seen_at__gt=now() - EXPOSED_FOR)
    return recent.filter(browser_seen_at__gt=F("secret_made_at")).order_by("pk")


def note_use(key_id: uuid.UUID, *, from_browser: bool) -> None:
    """Store the time of a key's last use, and of a secret key's use in a browser. Callers limit the frequency."""
    moment = now()
    seen = {"browser_seen_at": moment} if from_browser else {}
    AccessKey.objects.filter(pk=key_id).update(last_used_at=moment, **seen)
