"""Pages of the admin with a secret in them, which is kept nowhere."""

from typing import TypeVar

from django.http import HttpResponse
from django.utils.cache import add_never_cache_headers

Response = TypeVar("Response", bound=HttpResponse)


def shown_once(response: Response) -> Response:
    """Marks a page that neither browsers nor `feedletter_site.kept_answers` may keep."""
    add_never_cache_headers(response)
    response.shown_once = True  # type: ignore[attr-defined]
    return response
