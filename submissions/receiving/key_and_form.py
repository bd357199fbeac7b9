"""The one look-up of `/api/submit`: key, organization and form in a single statement, without model instances."""

import dataclasses
import json
import uuid
from typing import Any

from django.db import Error, connection

from config.api.errors import InvalidAccessKey
from config.database import as_uuid, database_id, drop_broken_connections, execute_prepared, is_away
from config.times import now
from forms_app.models import Form
from forms_app.spam_protection import SpamProtection
from keys.authentication import USE_NOTED_EVERY
from keys.models import AccessKey, Organization
from keys.plans import hourly_limit, is_full, room_for_files, storage_allowance
from submissions.receiving.parse_body import Post


@dataclasses.dataclass(frozen=True, slots=True)
class SubmitForm:
    """The columns of a form that submitting needs."""

    id: uuid.UUID
    organization_id: uuid.UUID
    status: str
    fields: list[Any]
    allowed_origins: list[str]
    success_message: str
    spam_protection: SpamProtection
    confirmation: bool
    is_blocked: bool


@dataclasses.dataclass(frozen=True, slots=True)
class SubmitKey:
    """The columns of a usable key that submitting needs. `recently`: within the last ten minutes."""

    id: uuid.UUID
    is_publishable: bool
    was_used_recently: bool
    was_in_page_recently: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """
    The organization that a post belongs to and counts against.

    `key`: the key that was used; None at `/f/`. `form`: the owner's form; None if the form does not exist or
    (`form_is_foreign`) belongs to another organization. `may_wait`: over the hour its post is held, not refused.
    `held_posts`: its submissions held for quota, known if this one may wait. `is_member`: a member sends it from the
    dashboard. `room_for_files`: bytes.
    """

    organization_id: uuid.UUID
    hourly_limit: int
    is_suspended: bool
    is_full: bool
    room_for_files: int
    form: SubmitForm | None
    form_is_foreign: bool = False
    key: SubmitKey | None = None
    may_wait: bool = False
    held_posts: int = 0
    is_member: bool = False

    @property
    def form_id(self) -> uuid.UUID | None:
        """The id of its form, None without one."""
        return self.form.id if self.form else None


NO_SETTINGS = SpamProtection()
_SELECT = """
SELECT k.id, k.kind, k.last_used_at > %s, k.browser_seen_at > %s, o.id, o.plan, o.rate_limit,
       o.suspended_at, o.stored_bytes, o.storage_limit,
       f.id, f.organization_id, f.status, f.fields, f.allowed_origins, f.success_message,
       f.spam_protection, f.confirmation, f.blocked_at
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


def find_key_and_form(post: Post) -> Owner:
    """
    Return the owner of a post's key, and the form it names or else the organization's default form.

    Raises InvalidAccessKey for a key that is missing, malformed, unknown, revoked or expired.
    """
    row = _look_up(post.key_digest, post.form_id) if post.key_digest else None
    if row is None:
        raise InvalidAccessKey
    return _owner(row)


def _look_up(digest: str, form_id: uuid.UUID | None) -> Any:
    moment = now()
    used_since = connection.ops.adapt_datetimefield_value(moment - USE_NOTED_EVERY)
    today = connection.ops.adapt_datefield_value(moment.date())
    if form_id is None:
        return _fetch(_DEFAULT_FORM, [used_since, used_since, digest, today])
    return _fetch(_NAMED_FORM, [used_since, used_since, database_id(form_id), digest, today])


def _fetch(sql: str, parameters: list[Any]) -> Any:
    """Run the look-up. If a restart of the database has broken the connection, try again over a new one."""
    try:
        return execute_prepared(sql, parameters).fetchone()
    except Error as error:
        had_none = connection.connection is None  # to break: the database itself is unavailable
        if not is_away(error) or had_none:
            raise
        drop_broken_connections()
        return execute_prepared(sql, parameters).fetchone()


def _owner(row: Any) -> Owner:
    key_id, kind, used, in_page, organization_id, plan, rate_limit, *rest = row
    suspended_at, stored_bytes, storage_limit, form_id, form_organization_id, *form = rest
    is_own = form_id is not None and form_organization_id == organization_id
    allowance = storage_allowance(plan, storage_limit)
    return Owner(
        organization_id=as_uuid(organization_id),
        hourly_limit=hourly_limit(plan, rate_limit),
        is_suspended=suspended_at is not None,
        is_full=is_full(stored_bytes, allowance),
        room_for_files=room_for_files(stored_bytes, allowance),
        form=_form(form_id, organization_id, *form) if is_own else None,
        form_is_foreign=form_id is not None and not is_own,
        key=SubmitKey(
            id=as_uuid(key_id),
            is_publishable=kind == AccessKey.Kind.PUBLISHABLE,
            was_used_recently=bool(used),
            was_in_page_recently=bool(in_page),
        ),
    )


def _form(
    pk: Any,
    organization_id: Any,
    status: str,
    fields: str,
    origins: str,
    message: str,
    spam_protection: str,
    confirmation: Any,
    blocked_at: Any,
) -> SubmitForm:
    return SubmitForm(
        id=as_uuid(pk),
        organization_id=as_uuid(organization_id),
        status=status,
        fields=_list(fields),
        allowed_origins=_list(origins),
        success_message=message,
        spam_protection=NO_SETTINGS if spam_protection == "{}" else SpamProtection.of(json.loads(spam_protection)),
        confirmation=bool(confirmation),
        is_blocked=blocked_at is not None,
    )


def submit_form_of(form: Form) -> SubmitForm:
    """Return the SubmitForm of a model instance."""
    return SubmitForm(
        id=form.pk,
        organization_id=form.organization_id,
        status=form.status,
        fields=form.fields,
        allowed_origins=form.allowed_origins,
        success_message=form.success_message,
        spam_protection=SpamProtection.of(form.spam_protection),
        confirmation=form.confirmation,
        is_blocked=form.blocked_at is not None,
    )


def _list(text: str) -> list[Any]:
    return [] if text == "[]" else list(json.loads(text))
