"""The one look-up of the submit path: key, organization and form in a single statement, without model instances."""

import dataclasses
import datetime as dt
import json
import uuid
from typing import Any

from django.db import connection

from config.database import DATABASE_AWAY, as_uuid, database_id, drop_broken_connections
from config.times import now
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.authentication import USE_NOTED_EVERY
from keys.models import AccessKey, Organization
from keys.plans import hourly_limit


@dataclasses.dataclass(frozen=True, slots=True)
class FoundForm:
    """The form of a submission, as far as submitting asks."""

    id: uuid.UUID
    organization_id: uuid.UUID
    status: str
    fields: list[Any]
    allowed_origins: list[str]
    success_message: str
    spam_protection: SpamProtection


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A usable key, whose it is, and the form; `form` is None when no form has the id that was asked for."""

    key_id: uuid.UUID
    is_publishable: bool
    was_used_lately: bool
    was_in_page_lately: bool
    organization_id: uuid.UUID
    hourly_limit: int
    form: FoundForm | None


NO_SETTINGS = SpamProtection()
_SELECT = """
SELECT k.id, k.kind, k.last_used_at > %s, k.browser_seen_at > %s, o.id, o.plan, o.rate_limit,
       f.id, f.organization_id, f.status, f.fields, f.allowed_origins, f.success_message,
       f.spam_protection
FROM {keys} k JOIN {organizations} o ON o.id = k.organization_id LEFT JOIN {forms} f ON {condition}
WHERE k.digest = %s AND k.revoked_at IS NULL AND (k.expires_on IS NULL OR k.expires_on >= %s)
"""
_TABLES = {
    "keys": AccessKey._meta.db_table,
    "organizations": Organization._meta.db_table,
    "forms": Form._meta.db_table,
}
_NAMED_FORM = _SELECT.format(**_TABLES, condition="f.id = %s")
_DEFAULT_FORM = _SELECT.format(**_TABLES, condition="f.organization_id = o.id AND f.is_default")


def find_key_and_form(*, digest: str, form_id: uuid.UUID | None) -> Found | None:
    """
    Return what a submission's key opens, or None for an unknown, revoked or expired one.

    Without `form_id` the form is the organization's default. A foreign form is returned; the caller refuses it.
    """
    moment = connection.ops.adapt_datetimefield_value(now() - USE_NOTED_EVERY)
    today = connection.ops.adapt_datefield_value(dt.datetime.now(dt.UTC).date())
    if form_id is None:
        row = _fetch(_DEFAULT_FORM, [moment, moment, digest, today])
    else:
        row = _fetch(_NAMED_FORM, [moment, moment, database_id(form_id), digest, today])
    return None if row is None else _found(row)


def _fetch(sql: str, parameters: list[Any]) -> Any:
    """Run the look-up; over a connection that a database's restart has broken, once more over a new one."""
    try:
        return _fetch_once(sql, parameters)
    except DATABASE_AWAY:
        if connection.connection is None:  # there was none to break: the database itself is away
            raise
        drop_broken_connections()
        return _fetch_once(sql, parameters)


def _fetch_once(sql: str, parameters: list[Any]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()


def _found(row: Any) -> Found:
    key_id, kind, used, in_page, organization_id, plan, rate_limit, form_id, *form = row
    return Found(
        key_id=as_uuid(key_id),
        is_publishable=kind == AccessKey.Kind.PUBLISHABLE,
        was_used_lately=bool(used),
        was_in_page_lately=bool(in_page),
        organization_id=as_uuid(organization_id),
        hourly_limit=hourly_limit(plan, rate_limit),
        form=_form(form_id, *form) if form_id else None,
    )


def _form(
    pk: Any, organization_id: Any, status: str, fields: str, origins: str, message: str, spam_protection: str
) -> FoundForm:
    return FoundForm(
        id=as_uuid(pk),
        organization_id=as_uuid(organization_id),
        status=status,
        fields=_list(fields),
        allowed_origins=_list(origins),
        success_message=message,
        spam_protection=NO_SETTINGS if spam_protection == "{}" else SpamProtection.of(json.loads(spam_protection)),
    )


def found_form(form: Form) -> FoundForm:
    """Return what submitting asks of a form that was read as a model instance."""
    return FoundForm(
        id=form.pk,
        organization_id=form.organization_id,
        status=form.status,
        fields=form.fields,
        allowed_origins=form.allowed_origins,
        success_message=form.success_message,
        spam_protection=SpamProtection.of(form.spam_protection),
    )


def _list(text: str) -> list[Any]:
    return [] if text == "[]" else list(json.loads(text))
