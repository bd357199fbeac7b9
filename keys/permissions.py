"""
Which permission each operation needs, and the two ways to lack it (SPEC section 5, CONTRACT sections 1 and 3).

A viewset names its `resource` and, for each action, the permission: `permission_for = {"list": "forms:read", ...}`.
"""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api.errors import Forbidden, Unauthorized
from keys.authentication import caller_key
from keys.models import AccessKey

ADMIN = "admin"  # the flag, where a permission's name would stand


class HasAccessKeyPermission(BasePermission):
    """Raises Forbidden when the key has nothing to do with the resource, Unauthorized when only this is missing."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True, or raise."""
        needed = view.permission_for.get(view.action)
        check_permission(caller_key(request), resource=view.resource, needed=needed)
        return True


def check_permission(key: AccessKey, *, resource: str, needed: str | None) -> None:
    """Raise Forbidden or Unauthorized. `needed` is None for a method that the resource does not have (405 follows)."""
    if key.is_publishable:
        raise Forbidden
    if resource == ADMIN:
        if not key.admin:
            raise Forbidden
        return
    if needed is None or needed in key.permissions:
        return
    if any(permission.startswith(f"{resource}:") for permission in key.permissions):
        raise Unauthorized
    raise Forbidden
