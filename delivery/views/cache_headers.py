"""How long browsers and what stands between may keep a page."""

from typing import TypeVar

from django.http import HttpResponse
from django.utils.cache import patch_cache_control

Response = TypeVar("Response", bound=HttpResponse)


def cache_publicly(response: Response, *, seconds: int) -> Response:
    """The same for everybody, for a while."""
    patch_cache_control(response, public=True, max_age=seconds)
    return response
