"""Enforce roles: permissions, and the pages of users who work for some newsletters only."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import Resolver404, ResolverMatch, resolve

from common.access import OPENS, newsletters_of, role_of
from feedletter_site.team.sessions import note_session

EDITOR, SENDER = "editor", "sender"

# By app: words before the models. "draft" is "change" without sending, "pause" without settings.
EDITS = {
    "feeds": {"view": "feed item"},
    "subscriptions": {
        "view": "subscribable assignable subscription listimport",
        "add": "subscription listimport",
        "change": "subscription listimport",
        "draft": "assignable",
    },
    "delivery": {"view": "issue broadcast", "add": "broadcast", "draft": "issue broadcast"},
}
# Shared by all newsletters.
EDITS_EVERYWHERE = {
    "feeds": {"view": "tag", "add": "feed tag", "change": "feed item tag"},
    "subscriptions": {"view": "destination subscribertag suppression"},
}
SENDS = {
    "subscriptions": {"change": "assignable", "pause": "subscribable"},
    "delivery": {"change": "issue broadcast"},
}
# Parts of "change" that a role can have without the rest.
PARTS = ("draft", "pause")
GUARDED = ("admin/", "mailbox/")
# Pages without rows.
OPEN = {"index", "logout", "jsi18n", "admin_sign_in", "admin_password_change", "your_account", "own_address"}
ENDINGS = ("changelist", "add", "change", "history", "delete")
# Pages of one row whose URLs aren't Django's, with the model of their key. They have their own permissions.
OF_ROWS = {
    "delivery_issue_progress": "delivery_issue",
    "delivery_issue_edit": "delivery_issue",
    "delivery_issue_letter": "delivery_issue",
    "delivery_next_issue_edit": "subscriptions_assignable",
    "delivery_settling_edit": "subscriptions_subscribable",
    "delivery_broadcast_show": "delivery_broadcast",
    "delivery_broadcast_keep": "delivery_broadcast",
    "delivery_broadcast_picture": "delivery_broadcast",
    "delivery_broadcast_send": "delivery_broadcast",
    "delivery_broadcast_series": "subscriptions_subscribable",
    "subscriptions_listimport_progress": "subscriptions_listimport",
    "subscriptions_listimport_refused": "subscriptions_listimport",
}
# Forms that offer the user's newsletters only.
OF_LISTS = {"subscriptions_subscription_import_list", "subscriptions_subscription_export_list"}


class RoleBackend(BaseBackend):
    """Adds the permissions of a role to the user's own."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        if not user_obj.is_active:
            return False
        if role := role_of(user_obj):
            limited = newsletters_of(user_obj) is not None
            if perm in permissions_of(role, is_limited=limited):
                return True
        app, _, name = perm.partition(".")
        word, _, model = name.partition("_")
        return word in PARTS and bool(user_obj.has_perm(f"{app}.change_{model}"))


@cache
def permissions_of(role: str, *, is_limited: bool) -> frozenset[str]:
    tables = [EDITS] if role in (EDITOR, SENDER) else []
    if tables and not is_limited:
        tables.append(EDITS_EVERYWHERE)
    if role == SENDER:
        tables.append(SENDS)
    return frozenset(
        f"{app}.{word}_{model}"
        for table in tables
        for app, words in table.items()
        for word, models in words.items()
        for model in models.split()
    )


class NewslettersOnlyMiddleware:
    """Refuses limited users all pages of the admin but those whose rows belong to their newsletters."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        before = OPENS.set(cache(partial(opens, request)))
        try:
            return self.get_response(request)
        finally:
            OPENS.reset(before)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is not None and match.route.startswith(GUARDED):
            note_session(request)
            require_in_scope(request, match)
        return None


def opens(request: HttpRequest, url: str) -> bool:
    """Return whether the user may open a URL. It says yes to what isn't a page of the admin."""
    if request.user.is_superuser:
        return True
    try:
        match = resolve(urlsplit(url).path)
        if not match.route.startswith(GUARDED):
            return True
        require_in_scope(request, match)
    except Resolver404:
        return True
    except (Http404, PermissionDenied):
        return False
    view: Any = match.func
    if hasattr(view, "opens_for"):
        return bool(view.opens_for(request.user))
    if not hasattr(view, "model_admin"):
        return True
    ending = str(match.url_name).rpartition("_")[2]
    words = getattr(view, "allowed_permissions", (ending if ending in ("add", "delete") else "view",))
    return all(getattr(view.model_admin, f"has_{word}_permission")(request) for word in words)


def require_in_scope(request: HttpRequest, match: ResolverMatch) -> None:
    """Raise Http404 or PermissionDenied for pages that aren't of the user's newsletters."""
    # Without a name, Django only redirects.
    name = match.url_name
    if newsletters_of(request.user) is None or name is None or name in OPEN or name in OF_LISTS:
        return
    key = match.kwargs.get("object_id", match.kwargs.get("pk"))
    page = scoped_admin(name)
    if page is None:
        raise PermissionDenied
    try:
        if key is not None and not page.get_queryset(request).filter(pk=unquote(str(key))).exists():
            raise Http404
    except (ValueError, ValidationError, OverflowError) as error:
        raise Http404 from error


def scoped_admin(name: str) -> Any:
    """Return the admin of a URL's rows, or None if they don't belong to newsletters."""
    model, _, ending = name.rpartition("_")
    model = OF_ROWS.get(name, model if ending in ENDINGS else "")
    pages = (
        page
        for each, page in admin.site._registry.items()
        if f"{each._meta.app_label}_{each._meta.model_name}" == model
    )
    page = next(pages, None)
    return page if getattr(page, "scope", "") else None
