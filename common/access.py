"""Users who work for some newsletters only."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest

Row = TypeVar("Row", bound=Model)
View = TypeVar("View", bound=Callable[..., Any])
# Set for each request: whether its user may open a URL of this site.
OPENS: ContextVar[Callable[[str], bool]] = ContextVar("OPENS", default=lambda url: True)


def opens_for(may: Callable[[Any], bool]) -> Callable[[View], View]:
    """Refuse a view to other users, who are shown no link to it."""

    def limit(view: View) -> View:
        @wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            if not may(next(each for each in args if isinstance(each, HttpRequest)).user):
                raise PermissionDenied
            return view(*args, **kwargs)

        limited.opens_for = may  # type: ignore[attr-defined]
        return limited  # type: ignore[return-value]

    return limit


def role_of(user: Any) -> str:
    """Return the role that gives the user permissions, or ""."""
    return "" if user.is_superuser else getattr(getattr(user, "member", None), "role", "")


def newsletters_of(user: Any) -> frozenset[int] | None:
    """Return keys of the only newsletters that the user may see, or None for a user without this limit."""
    member = None if user.is_superuser else getattr(user, "member", None)
    return member.newsletter_keys if member is not None and member.is_limited else None


def visible_to(user: Any, rows: "QuerySet[Row]", path: str = "pk") -> "QuerySet[Row]":
    """Leave only rows of the user's newsletters. `path`: lookup of their newsletter, or "" for none."""
    keys = newsletters_of(user)
    if keys is None:
        return rows
    if not path:
        return rows.none()
    # A feed has several newsletters: a join would repeat it.
    own = rows.model._base_manager.filter(**{f"{path}__in": keys})
    return rows.filter(pk__in=own.values("pk"))
