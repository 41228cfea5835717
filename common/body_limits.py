from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

MEGABYTE = 1024 * 1024
MAX_FORM_BYTES = 64 * 1024

View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """`largest` in bytes, or None if the view counts itself.

    `files` is only for staff, `for_users` for signed-in users; others get MAX_FORM_BYTES.
    """

    largest: int | None = MAX_FORM_BYTES
    files: bool = False
    for_users: bool = False


def takes_body(
    largest: int | None, *, files: bool = False, for_users: bool = False
) -> Callable[[View], View]:
    def mark(view: View) -> View:
        view.body_limit = BodyLimit(largest, files, for_users)  # type: ignore[attr-defined]
        return view

    return mark


def limit_of(view: Any) -> BodyLimit:
    return getattr(view, "body_limit", None) or BodyLimit()
