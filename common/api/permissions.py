"""Permissions: staff as in the admin; tokens by scope, within the permissions of their makers.

Rate limits of the settings: `api`, `api_anonymous`, and others named by views.
"""

import math
import time
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from django.contrib.auth import get_permission_codename
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from common.access import newsletters_of
from common.rates import Limit, Use, count_use, parse_limits

READ, WRITE = "read", "write"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
SCOPES: Mapping[str, str] = {
    "feeds:read": "See feeds and their posts.",
    "feeds:write": "Add, change and remove feeds; exclude and include posts.",
    "newsletters:read": "See newsletters and bridges.",
    "newsletters:write": "Define, change, pause and remove newsletters and bridges.",
    "site:read": "See the site’s settings.",
    "site:write": "Change the site’s settings: its name, colour and links.",
    "subscribers:read": "See subscribers and their addresses.",
    "subscribers:write": "Add, change, confirm and end subscriptions; disable and erase addresses.",
    "letters:read": "See emails that editors wrote, drafts included.",
    "letters:write": "Write, schedule and send emails to all subscribers of a newsletter.",
    "sending:read": "See issues and deliveries, with the recipients’ addresses.",
    "sending:write": "Approve, pause and cancel issues; retry deliveries.",
}
# With reading scopes only, so that nothing that an assistant is talked into can send.
ASSISTANT = "assistant"
TOKEN_SCOPES = {**SCOPES, ASSISTANT: "Prepare emails and changes, for a person to decide. Only with reading."}
# As in Django's permissions; any other action is "change".
_WORDS = {"create": "add", "destroy": "delete"}


def scope_for(area: str, method: str) -> str:
    return f"{area}:{READ if method in SAFE else WRITE}"


def covers(scopes: Iterable[str], wanted: str) -> bool:
    """Return whether a scope suffices; write includes read."""
    area = wanted.partition(":")[0]
    return not {wanted, f"{area}:{WRITE}"}.isdisjoint(scopes)


class InsufficientScope(PermissionDenied):
    """The header names the missing scope (RFC 6750 §3.1)."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"This token may not do that: it needs the scope {scope}.")
        self.auth_header = f'Bearer error="insufficient_scope", scope="{scope}"'


class MakerMayNot(PermissionDenied):
    """The maker of the token lacks the permission."""

    default_detail = "This token may not do that: the account that made it has not the permission."


class MayUse(BasePermission):
    """Check `area`, the first half of scopes; a view without one is for all tokens and staff."""

    message = "Your account may not do that. Ask an admin for the permission."

    def has_permission(self, request: Request, view: Any) -> bool:
        area = getattr(view, "area", "")
        token: Any = request.auth
        if token is not None:
            if not area:
                return True
            method = request.method or ""
            wanted = scope_for(area, method)
            if not covers(token.scopes, wanted):
                raise InsufficientScope(wanted)
            # Checked at each use, because makers may lose permissions. A command's token has no maker.
            maker = token.made_by
            if maker is not None and not _may_person(maker, view, method in SAFE, view.action):
                raise MakerMayNot
            return True
        user = request.user
        if not (user.is_authenticated and user.is_active and user.is_staff):
            return False
        return not area or _may_person(user, view, request.method in SAFE, view.action)


def may_hand_on(user: Any, view: Any, verb: str) -> bool:
    if not _may_person(user, view, True):
        return False
    changing = [name for name in ("create", "partial_update", "destroy") if hasattr(view, name)]
    extra = [each for each in view.get_extra_actions() if not set(map(str.upper, each.mapping)) <= SAFE]
    actions = [*changing, *(each.__name__ for each in extra)]
    return verb != WRITE or all(_may_person(user, view, False, action) for action in actions)


def _may_person(user: Any, view: Any, reads: bool, action: str | None = None) -> bool:
    if newsletters_of(user) is not None:
        # Answers aren’t limited to newsletters.
        return False
    meta = view.queryset.model._meta
    words = ("view", "change") if reads else (_WORDS.get(action or "", "change"),)
    return any(user.has_perm(f"{meta.app_label}.{get_permission_codename(word, meta)}") for word in words)


class Throttle(BaseThrottle):
    """Counter in windows of fixed length, atomic in the cache."""

    def __init__(self) -> None:
        self.seconds_left: float = 0

    def allow_request(self, request: Request, view: Any) -> bool:
        now = time.time()
        uses = [(limit, f"{client}:{int(now // limit.seconds)}") for limit, client in asker(request, view)]
        limit, left = min(((use[0], use[0].most - count_use(use)) for use in uses), key=itemgetter(1))
        self.seconds_left = limit.seconds - now % limit.seconds
        view.rate_headers = {
            "RateLimit-Limit": str(limit.most),
            "RateLimit-Remaining": str(max(left, 0)),
            "RateLimit-Reset": str(math.ceil(self.seconds_left)),
        }
        return left >= 0

    def wait(self) -> float:
        return self.seconds_left


def asker(request: Request, view: Any) -> Iterable[Use]:
    scope = getattr(view, "throttle_scope", "")
    if not scope and request.auth is not None:
        return [(_limit("api"), f"token-{request.auth.pk}")]
    if not scope and request.user.is_authenticated:
        return [(_limit("api"), f"user-{request.user.pk}")]
    return _limit(scope or "api_anonymous").by_network(str(request.META.get("REMOTE_ADDR", "")))


def _limit(name: str) -> Limit:
    return parse_limits(f"{name}={api_settings.DEFAULT_THROTTLE_RATES[name]}")[0]
