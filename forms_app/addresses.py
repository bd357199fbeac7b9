"""
Addresses of forms: `/f/contact` besides `/f/frm_…` (docs/contract.md 6.65).

An address is unique in the installation. Once given up it leads on for a while, and stays with its organization: what
was printed or mailed never leads to somebody else's form.
"""

import datetime as dt
from collections.abc import Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.formats import date_format
from django.utils.translation import gettext

from config.api.errors import Conflict, invalid
from config.base.times import now
from forms_app.models import LETTERS, MAX_ADDRESS, MAX_KEY, MIN_ADDRESS, Form, FormerAddress

SEGMENT = f"[a-z0-9-]{{{MIN_ADDRESS},{MAX_ADDRESS}}}"  # of a path: the pattern of an address
LEADS_ON = dt.timedelta(days=90)
KEPT = 5  # former addresses that a form can take back; older ones lead nowhere
# Words below /f/, and the first part of every other path of ours: the page of a form is at `/contact` too.
RESERVED = frozenset(
    {
        *("brand", "challenge", "confirm", "edit", "no-mails", "report", "status", "test", "thanks", "uploads"),
        *("account", "admin", "ajax", "api", "dashboard", "demo", "docs", "events", "files", "forms", "healthz"),
        *("mails", "metrics", "readyz", "setup", "static", "submit"),
    }
)


class KeyTaken(Conflict):
    """Another form of the organization has this key."""


def check_key(key: str) -> None:
    """Raise ValidationFailed for a text that cannot be a form's key."""
    if not 1 <= len(key) <= MAX_KEY or set(key) - set(LETTERS):
        message = gettext("Use 1 to %(most)s characters of a to z, 0 to 9 and the hyphen.") % {"most": MAX_KEY}
        raise invalid("key", "invalid", message)


def check_address(address: str) -> None:
    """Raise ValidationFailed for a text that cannot be a form's address."""
    if not MIN_ADDRESS <= len(address) <= MAX_ADDRESS or set(address) - set(LETTERS):
        text = gettext("Use %(least)s to %(most)s characters of a to z, 0 to 9 and the hyphen.")
        raise invalid("address", "invalid", text % {"least": MIN_ADDRESS, "most": MAX_ADDRESS})
    if address in RESERVED:
        message = gettext("%(address)s is a word that this service uses itself. Choose another one.")
        raise invalid("address", "reserved", message % {"address": address})


def save_named(form: Form, *, old_address: str | None = None, **options: Any) -> None:
    """
    Save a form that may have a new key or address. `old_address`: the one that is stored.

    Raises Conflict for a key of another form of the organization, and for an address of any other form.
    """
    _refuse_taken(form, options.get("update_fields", ("key", "address")))
    try:
        with transaction.atomic():
            form.save(**options)
    except IntegrityError as error:
        if "form_address_once" in str(error) or "forms_app_form.address" in str(error):
            raise Conflict(_taken(form)) from None
        if "form_key_once" in str(error) or "forms_app_form.key" in str(error):
            raise KeyTaken(_key_taken(form)) from None
        raise
    if form.address != old_address:
        _move(form, old_address)


def _refuse_taken(form: Form, changed: Collection[str]) -> None:
    """
    Raise Conflict for a name that another form has and may be about to give up.

    Before the form is written: two forms that take each other's would wait for each other at the unique index.
    """
    others = Form.objects.exclude(pk=form.pk)
    own = others.filter(organization=form.organization_id).exclude(status=Form.Status.ARCHIVED)
    if "key" in changed and own.filter(key=form.key).exists():
        raise KeyTaken(_key_taken(form))
    if "address" in changed and form.address and others.filter(address=form.address).exists():
        raise Conflict(_taken(form))


def _move(form: Form, old: str | None) -> None:
    """
    Settle whose the new address was, and what becomes of the old one.

    After the form is written: of two forms that take and give up an address at the same time, the second one waits for
    the first one's transaction at the unique index, and then sees what it left.
    """
    if form.address:
        _take(form)
    if old:
        give_up_address(form, old)
    most = KEPT * form.organization.terms.forms
    if form.address and FormerAddress.objects.filter(organization=form.organization_id).count() > most:
        text = gettext("This organization has given up %(most)s addresses. Take one of them back.")
        raise Conflict(text % {"most": f"{most:,}"})


def _take(form: Form) -> None:
    former = FormerAddress.objects.select_for_update().filter(address=form.address).first()
    if former is None:
        return
    if former.organization_id != form.organization_id:
        raise Conflict(_taken(form))
    until = former.given_up_at + LEADS_ON
    if former.form_id not in (None, form.pk) and until > now():
        text = gettext("%(address)s leads to the form %(form)s until %(date)s. Choose another one.")
        shown = {"address": form.address, "form": former.form, "date": date_format(until, "DATE_FORMAT")}
        raise Conflict(text % shown)
    former.delete()


def give_up_address(form: Form, address: str) -> None:
    """Let an address that the form had lead on to it; the oldest of more than it keeps leads nowhere any more."""
    FormerAddress.objects.create(address=address, organization_id=form.organization_id, form=form, given_up_at=now())
    kept = FormerAddress.objects.filter(form=form).order_by("-given_up_at", "address")
    FormerAddress.objects.filter(pk__in=list(kept.values_list("pk", flat=True)[KEPT:])).update(form=None)


def form_at(address: str) -> Form | None:
    """Return the form that has this address, or gave it up at most 90 days ago, with its organization."""
    if not MIN_ADDRESS <= len(address) <= MAX_ADDRESS or set(address) - set(LETTERS):
        return None
    forms = Form.objects.select_related("organization")
    leading = FormerAddress.objects.filter(address=address, given_up_at__gt=now() - LEADS_ON)
    return forms.filter(address=address).first() or forms.filter(pk__in=leading.values("form")).first()


def _taken(form: Form) -> str:
    return gettext("The address %(address)s is taken. Choose another one.") % {"address": form.address}


def _key_taken(form: Form) -> str:
    message = gettext("Another form of this organization has the key %(key)s. Choose another one.")
    return message % {"key": form.key}
