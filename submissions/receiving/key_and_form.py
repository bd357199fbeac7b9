"""The one look-up of `/api/submit`: key, organization and form in a single statement."""

import dataclasses
import json
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, Error, connection

from config.api.errors import InvalidAccessKey
from config.base.database import as_uuid, database_id, drop_broken_connections, execute_prepared, is_away
from config.base.times import now
from forms_app.models import Form
from keys.authentication import USE_NOTED_EVERY
from keys.models import AccessKey, Organization
from submissions.receiving.parse_body import Post


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

    `form`: the owner's form; None if it does not exist or (`form_is_foreign`) belongs to another organization. `key`:
    the key that was used; None at `/f/`. `may_wait`: over the hour its post is held, not refused. `is_member`: a member
    sends it from the dashboard. `is_test`: what it sends is a test submission.
    """

    organization: Organization
    form: Form | None
    form_is_foreign: bool = False
    key: SubmitKey | None = None
    may_wait: bool = False
    is_member: bool = False
    is_test: bool = False


# The columns that submitting needs, in the order of the models, as `from_db` reads them. Others would cost a query.
ORGANIZATION = ("id", "plan", "rate_limit", "suspended_at", "stored_bytes", "storage_limit", "held_posts")
FORM = (
    "id", "organization_id", "status", "fields", "allowed_origins", "success_message", "spam_protection",
    "confirmation", "blocked_at",
)  # fmt: skip
_SELECT = f"""
SELECT k.id, k.kind, k.mode, k.last_used_at > %s, k.browser_seen_at > %s,
       {", ".join(f"o.{name}" for name in ORGANIZATION)}, {", ".join(f"f.{name}" for name in FORM)}
FROM {AccessKey._meta.db_table} k JOIN {Organization._meta.db_table} o ON o.id = k.organization_id
LEFT JOIN {Form._meta.db_table} f ON {{condition}}
WHERE k.digest = %s AND k.revoked_at IS NULL AND (k.expires_on IS NULL OR k.expires_on >= %s)
"""  # noqa: S608 - names from code
_NAMED_FORM = _SELECT.format(condition="f.id = %s")
_DEFAULT_FORM = _SELECT.format(condition="f.organization_id = o.id AND f.is_default")


def find_key_and_form(post: Post) -> Owner:
    """
    Return the owner of a post's key, and the form it names or else the organization's default form.

    Raises InvalidAccessKey for a key that is missing, malformed, unknown, revoked or expired.
    """
    row = _look_up(post) if post.key_digest else None
    if row is None:
        raise InvalidAccessKey
    key_id, kind, mode, used, in_page, organization_id, *rest = row
    more, form = rest[: len(ORGANIZATION) - 1], rest[len(ORGANIZATION) - 1 :]
    organization = Organization.from_db(DEFAULT_DB_ALIAS, ORGANIZATION, [as_uuid(organization_id), *more])
    form_id, form_organization_id, *_ = form
    is_own = form_id is not None and form_organization_id == organization_id
    return Owner(
        organization,
        _form(organization, form) if is_own else None,
        form_is_foreign=form_id is not None and not is_own,
        key=SubmitKey(
            as_uuid(key_id),
            kind == AccessKey.Kind.PUBLISHABLE,
            bool(used),
            bool(in_page),
        ),
        is_test=mode == AccessKey.Mode.TEST,
    )


def _look_up(post: Post) -> Any:
    """Return the row. If a restart of the database has broken the connection, try again over a new one."""
    moment, ops = now(), connection.ops
    sql, named = (_NAMED_FORM, [database_id(post.form_id)]) if post.form_id else (_DEFAULT_FORM, [])
    used_since, today = (
        ops.adapt_datetimefield_value(moment - USE_NOTED_EVERY),
        ops.adapt_datefield_value(moment.date()),
    )
    parameters = [used_since, used_since, *named, post.key_digest, today]
    try:
        return execute_prepared(sql, parameters).fetchone()
    except Error as error:
        had_none = connection.connection is None  # to break: the database itself is unavailable
        if not is_away(error) or had_none:
            raise
        drop_broken_connections()
        return execute_prepared(sql, parameters).fetchone()


def _form(organization: Organization, row: Sequence[Any]) -> Form:
    pk, _, status, fields, origins, message, spam_protection, confirmation, blocked_at = row
    texts = [json.loads(fields), json.loads(origins), message, json.loads(spam_protection)]
    values = [as_uuid(pk), organization.pk, status, *texts, bool(confirmation), blocked_at]
    form = Form.from_db(DEFAULT_DB_ALIAS, FORM, values)
    form.organization = organization
    return form
