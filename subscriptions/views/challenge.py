"""Hands out the sum that a reader's browser solves before it sends a sign-up."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.clock import utcnow
from subscriptions.services.challenging import new_sum


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """A fresh one for whoever asks, on whichever site the form stands. Nothing is remembered of it."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
