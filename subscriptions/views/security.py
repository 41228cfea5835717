"""Headers of readers' pages."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]

# No script at all. Pictures of posts come from wherever the blog keeps them.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' https: http: data:",
        "media-src https: http:",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

# Where a form holds off robots, a script of ours solves its sum (templates/pages/_form_safety.html).
SCRIPT = "; script-src 'self'; connect-src 'self'"
SUM = b' data-challenge="'


def _has_sum(response: HttpResponse) -> bool:
    return not response.streaming and SUM in response.content


def page(view: View) -> View:
    """A page of ours: no script but where a sum is to be solved, no plug-in, no frame around it."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        policy = response.headers.get("Content-Security-Policy", POLICY)
        response.headers["Content-Security-Policy"] = policy + (SCRIPT if _has_sum(response) else "")
        return response

    return wrapped


def token_page(view: View) -> View:
    """A page whose address is a key: not kept, not indexed, not passed on to the next site."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = page(view)(request, *args, **kwargs)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped
