"""What the pages behind a token have in common."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.signing import TokenError
from subscriptions.views.security import token_page

View = Callable[[HttpRequest, str], HttpResponse]


def by_token(view: View) -> Callable[..., HttpResponse]:
    """GET and HEAD show, POST acts. The token is the authority: no cookie, no CSRF token."""

    @wraps(view)
    def wrapped(request: HttpRequest, token: str) -> HttpResponse:
        try:
            response = view(request, token)
        except TokenError as error:
            context: dict[str, Any] = {"reason": str(error), "page_url": getattr(error, "page_url", "")}
            response = render(request, "pages/bad_link.html", context, status=400)
        # Django logs the path of a 4xx answer, and here that is a key: it may be good for another page.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    return csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(token_page(wrapped)))
