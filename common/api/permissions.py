"""Who may do what: tokens by their scopes, staff as in the admin."""

from typing import Any

from django.contrib.auth import get_permission_codename
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from common.api.scopes import SAFE, covers, scope_for

# What an action means for Django's permissions; whatever is posted to one thing changes it.
_WORDS = {"create": "add", "destroy": "delete"}


class InsufficientScope(PermissionDenied):
    """RFC 6750, 3.1: the answer names the scope that is missing."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"This token may not do that: it needs the scope {scope}.")
        self.auth_header = f'Bearer error="insufficient_scope", scope="{scope}"'


class MayUse(BasePermission):
    """A view has an `area`, the first half of scopes. One without is for every token and for all staff."""

    message = "Your account may not do that. Ask an admin for the permission."

    def has_permission(self, request: Request, view: Any) -> bool:
        area = getattr(view, "area", "")
        token: Any = request.auth
        if token is not None:
            return _may_token(token.scopes, area, request.method or "")
        user = request.user
        if not (user.is_authenticated and user.is_active and user.is_staff):
            return False
        return not area or _may_person(user, view, request.method or "")


def _may_token(scopes: list[str], area: str, method: str) -> bool:
    wanted = scope_for(area, method)
    if area and not covers(scopes, wanted):
        raise InsufficientScope(wanted)
    return True


def _may_person(user: Any, view: Any, method: str) -> bool:
    meta = view.queryset.model._meta
    words = ("view", "change") if method in SAFE else (_WORDS.get(view.action or "", "change"),)
    return any(user.has_perm(f"{meta.app_label}.{get_permission_codename(word, meta)}") for word in words)
