"""
The permission that each operation needs, and the two ways to lack it (docs/contract.md 1 and 3).

A viewset has a `resource` and the permission of each action: `permission_for = {"list": "forms:read", ...}`. Of every
view `test_actions` are the actions, or methods, that test keys have too; all others are refused to them.
"""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api.errors import Forbidden, Unauthorized
from config.base.ids import Prefix, encode_id
from keys.authentication import caller_key
from keys.models import AccessKey

ADMIN = "admin"  # the flag, in place of a permission's name
MISSING = "X-Required-Permission"  # the header that names the permission of a refused operation


class HasAccessKeyPermission(BasePermission):
    """Raises Forbidden if the key has no permission of the resource, Unauthorized if it has only others."""

    def has_permission(self, request: Request, view: Any) -> bool:
        needed = view.permission_for.get(view.action)
        _refuse_tests(request, view)
        check_permission(caller_key(request), resource=view.resource, needed=needed)
        return True


def _refuse_tests(request: Request, view: Any) -> None:
    """Raise Unauthorized for a secret test key, unless the action is one of those for it. 405 follows without one."""
    method = {"HEAD": "get"}.get(str(request.method), str(request.method).lower())
    key, action = caller_key(request), getattr(view, "action", method)
    if key.is_test and not key.is_publishable and action not in (None, *view.test_actions):
        raise Unauthorized


def check_permission(key: AccessKey, *, resource: str, needed: str | None) -> None:
    """Raise Forbidden or Unauthorized. `needed` is None for a method that the resource lacks: 405 follows."""
    if key.is_publishable:
        raise Forbidden
    if resource == ADMIN:
        if not key.admin:
            raise Forbidden
        return
    if needed is None or needed in key.permissions:
        return
    if any(permission.startswith(f"{resource}:") for permission in key.permissions):
        raise Unauthorized(headers={MISSING: str(needed)})
    raise Forbidden


class MayManageKeys(HasAccessKeyPermission):
    """The same, but any secret key may revoke itself."""

    def has_permission(self, request: Request, view: Any) -> bool:
        key = caller_key(request)
        is_itself = view.action == "destroy" and view.kwargs["id"] == encode_id(Prefix.ACCESS_KEY, key.pk)
        return (is_itself and not key.is_publishable) or super().has_permission(request, view)


class IsSecretKey(BasePermission):
    """Raises Forbidden for a publishable key; any secret one will do."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if caller_key(request).is_publishable:
            raise Forbidden
        _refuse_tests(request, view)
        return True
