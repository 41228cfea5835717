"""Pages that answer forms in the admin, kept under a separate URL for Back and reload.

Otherwise browsers ask whether to send the form again.
"""

import base64
import secrets
import zlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers

from common.secrets import decrypt, encrypt

KEY = "answers"
PARAMETER = "answer"
MOST = 4
# Compressed; larger pages are not kept.
LARGEST = 128 * 1024


class KeptAnswerMiddleware:
    """Keep the latest pages in the session, encrypted because they contain input."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith("/admin/"):
            return self.get_response(request)
        token = _without_parameter(request)
        if token and request.method == "GET" and request.user.is_authenticated:
            page = _kept(request, token)
            if page is not None:
                return page
        response = self.get_response(request)
        if not (isinstance(response, HttpResponse) and _is_page_for_a_form(request, response)):
            return response
        packed = base64.b64encode(zlib.compress(response.content)).decode()
        if len(packed) > LARGEST:
            return response
        token = secrets.token_urlsafe(8)
        sealed = encrypt({"page": packed, "status": str(response.status_code)})
        request.session[KEY] = [*request.session.get(KEY, []), [token, sealed]][-MOST:]
        query = request.GET.copy()
        query[PARAMETER] = token
        answer = HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
        answer.cookies = response.cookies
        return answer


def _without_parameter(request: HttpRequest) -> str:
    token = request.GET.get(PARAMETER, "")
    if token:
        query = request.GET.copy()
        del query[PARAMETER]
        request.META["QUERY_STRING"] = query.urlencode()
        request.GET = query  # type: ignore[assignment]
    return token


def _kept(request: HttpRequest, token: str) -> HttpResponse | None:
    for each, sealed in request.session.get(KEY, []):
        if each != token:
            continue
        try:
            page = decrypt(sealed)
        except ValueError:
            return None
        content = zlib.decompress(base64.b64decode(page["page"]))
        answer = HttpResponse(content, status=int(page["status"]))
        add_never_cache_headers(answer)
        return answer
    return None


def _is_page_for_a_form(request: HttpRequest, response: HttpResponse) -> bool:
    """Only browsers accept text/html by name; scripts do not."""
    return (
        request.method == "POST"
        and request.user.is_authenticated
        and "text/html" in request.headers.get("Accept", "")
        and "HX-Request" not in request.headers
        and response.status_code in (200, 400)
        and response.headers.get("Content-Type", "").startswith("text/html")
        and "Content-Security-Policy" not in response.headers
        and not getattr(response, "shown_once", False)
    )
