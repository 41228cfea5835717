"""How large a request's body may be: as large as a form, unless the view says that it takes more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

MEGABYTE = 1024 * 1024
MAX_FORM_BYTES = 64 * 1024

View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """`largest` in bytes, or None where the view counts for itself.

    `files` are for staff, and `for_users` for whoever is signed in. Others send no more than a form.
    """

    largest: int | None = MAX_FORM_BYTES
    files: bool = False
    for_users: bool = False


def takes_body(
    largest: int | None, *, files: bool = False, for_users: bool = False
) -> Callable[[View], View]:
    """Marks a view that takes more than a form."""

    def mark(view: View) -> View:
        view.body_limit = BodyLimit(largest, files, for_users)  # type: ignore[attr-defined]
        return view

    return mark


def limit_of(view: Any) -> BodyLimit:
    """The limit that `takes_body` gave to a view, or else that of a form."""
    return getattr(view, "body_limit", None) or BodyLimit()
