"""Finds the object of a request: 404 if it does not exist, 403 if another organization owns it (docs/contract.md 1)."""

import uuid
from collections.abc import Collection
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from config.api.errors import NotFound, Unauthorized, invalid
from config.base.ids import InvalidId, decode_id

M = TypeVar("M", bound=Model)


def find_owned(queryset: QuerySet[Any], pk: uuid.UUID, organization_id: uuid.UUID) -> Any:
    """
    Return the object with this primary key; its model has the owner in `organization_id`.

    Raises NotFound, or Unauthorized for an object of another organization.
    """
    found = still_there(queryset, pk)
    if found.organization_id != organization_id:
        raise Unauthorized
    return found


def still_there(queryset: QuerySet[M], pk: Any) -> M:
    """Return an object that was found before, such as to lock it. Raises NotFound if it was deleted meanwhile."""
    found = queryset.filter(pk=pk).first()
    if found is None:
        raise NotFound
    return found


def require_all_owned(queryset: QuerySet[Any], pks: Collection[uuid.UUID], organization_id: uuid.UUID) -> None:
    """
    Check that every object exists, then that every one is the organization's. Raises NotFound or Unauthorized.

    With `select_for_update` in `queryset`, that stays so until the transaction ends.
    """
    owners = dict(queryset.filter(pk__in=pks).values_list("pk", "organization_id"))
    if len(owners) < len(set(pks)):
        raise NotFound
    if set(owners.values()) != {organization_id}:
        raise Unauthorized


def path_id(prefix: str, text: str) -> uuid.UUID:
    """Return the UUID of an id in a path. Raises ValidationFailed for another kind or format."""
    try:
        return decode_id(prefix, text)
    except InvalidId as error:
        raise invalid("id", "invalid_id", str(error)) from None
