"""Token endpoints: JSON without cookies for any origin."""

from collections.abc import Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from common.clock import utcnow
from reader.indieauth.discovery import RETURNS, issuer, our_client_id, profile_of, site_url
from reader.indieauth.grants import Exchange, NotGranted, redeem, redeem_for_name, refresh, revoke_by_key
from reader.models import Reader, Token
from reader.people.readers import may_read
from reader.people.tokens import IDLE, ends_at, known_token, token_of
from reader.rules.parameters import GRANTABLE, PROFILE

Body = dict[str, Any]
CODE, REFRESH = "authorization_code", "refresh_token"
# Clients in browsers have other origins.
OPEN_TO_ALL = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Cache-Control, Last-Event-ID",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Max-Age": "86400",
    # RFC 6749 §5.1.
    "Cache-Control": "no-store",
    "Pragma": "no-cache",
}


@require_safe
def client_document(request: HttpRequest) -> HttpResponse:
    """Serve the client_id document (§4.2.1)."""
    about = {
        "client_id": our_client_id(),
        "client_name": f"Feedletter ({settings.SITE_HOST})",
        "client_uri": f"{settings.SITE_URL}/",
        "logo_uri": settings.SITE_URL + static("feedletter/favicon.svg"),
        "redirect_uris": [site_url(name) for name in RETURNS],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return JsonResponse(about)


class Unknown(Exception):
    pass


def _endpoint(
    *methods: str,
) -> Callable[[Callable[[HttpRequest], Body]], Callable[[HttpRequest], HttpResponse]]:
    """Make a view of a function that returns JSON; errors by RFC 6749 §5.2."""

    def made(answer: Callable[[HttpRequest], Body]) -> Callable[[HttpRequest], HttpResponse]:
        @csrf_exempt
        @wraps(answer)
        def view(request: HttpRequest) -> HttpResponse:
            if request.method == "OPTIONS":
                return HttpResponse(status=HTTPStatus.NO_CONTENT, headers=OPEN_TO_ALL)
            if ("GET" if request.method == "HEAD" else request.method) not in methods:
                words = f"Ask with {' or '.join(methods)}."
                allowed = {"Allow": ", ".join((*methods, "OPTIONS"))}
                return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "invalid_request", words, allowed)
            try:
                return JsonResponse(answer(request), headers=OPEN_TO_ALL)
            except NotGranted as error:
                return _refusal(HTTPStatus.BAD_REQUEST, error.code, str(error))
            except Unknown:
                words = "Send a valid token: Authorization: Bearer …"
                asked = {"WWW-Authenticate": "Bearer"}
                return _refusal(HTTPStatus.UNAUTHORIZED, "invalid_token", words, asked)

        return view

    return made


@_endpoint("GET")
def metadata(request: HttpRequest) -> Body:
    """Return metadata (§4.1.1, RFC 8414)."""
    return {
        "issuer": issuer(),
        "authorization_endpoint": site_url("reader:authorize"),
        "token_endpoint": site_url("reader:token"),
        "introspection_endpoint": site_url("reader:introspect"),
        "introspection_endpoint_auth_methods_supported": ["Bearer"],
        "revocation_endpoint": site_url("reader:revoke"),
        "revocation_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": list(GRANTABLE),
        "response_types_supported": ["code"],
        "grant_types_supported": [CODE, REFRESH],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


@_endpoint("POST")
def exchange_for_name(request: HttpRequest) -> Body:
    """Redeem a code without a token (§5.3.1)."""
    code = redeem_for_name(_shown(request), now=utcnow())
    return _who(code.reader, code.scopes)


@_endpoint("GET", "POST")
def token(request: HttpRequest) -> Body:
    """Issue a token (§5.3.2, §5.5). GET describes one, as it used to."""
    if request.method != "POST":
        known = _bearer(request)
        return {"me": profile_of(known.reader), "client_id": known.client_id, "scope": " ".join(known.scopes)}
    if request.POST.get("action") == "revoke":
        return _revoke(request)
    match request.POST.get("grant_type", ""):
        case "authorization_code":
            given = redeem(_shown(request), now=utcnow())
        case "refresh_token":
            given = refresh(
                refresh_key=_needed(request, "refresh_token"),
                client_id=_needed(request, "client_id"),
                scopes=request.POST.get("scope", "").split(),
                now=utcnow(),
            )
        case _:
            message = f"The grant_type is {CODE} or {REFRESH}."
            raise NotGranted(message, "unsupported_grant_type")
    return {
        "access_token": given.key,
        "token_type": "Bearer",
        "scope": " ".join(given.token.scopes),
        "expires_in": int(IDLE.total_seconds()),
        "refresh_token": given.refresh_key,
        **_who(given.token.reader, given.token.scopes),
    }


@_endpoint("POST")
def revocation(request: HttpRequest) -> Body:
    """Succeeds for unknown tokens (RFC 7009)."""
    return _revoke(request)


@_endpoint("POST")
def introspection(request: HttpRequest) -> Body:
    """Describe a token (RFC 7662) to clients of the same reader."""
    asker = _bearer(request)
    token = known_token(key=_needed(request, "token"), now=utcnow())
    if token is None or token.reader_id != asker.reader_id:
        return {"active": False}
    about: Body = {
        "active": True,
        "me": profile_of(token.reader),
        "client_id": token.client_id,
        "scope": " ".join(token.scopes),
        "iat": int(token.made_at.timestamp()),
    }
    return about | ({"exp": int(ends_at(token).timestamp())} if token.client_id else {})


def _shown(request: HttpRequest) -> Exchange:
    if request.POST.get("grant_type", CODE) != CODE:
        raise NotGranted(f"The grant_type is {CODE}.", "unsupported_grant_type")
    return Exchange(
        *(_needed(request, name) for name in ("code", "client_id", "redirect_uri", "code_verifier"))
    )


def _needed(request: HttpRequest, name: str) -> str:
    if value := request.POST.get(name, ""):
        return value
    raise NotGranted(f"The parameter {name} is missing.", "invalid_request")


def _bearer(request: HttpRequest) -> Token:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    token = token_of(key=key.strip(), now=utcnow()) if scheme.lower() == "bearer" else None
    if token is None or not may_read(token.reader):
        raise Unknown
    return token


def _revoke(request: HttpRequest) -> Body:
    revoke_by_key(key=_needed(request, "token"), now=utcnow())
    return {}


def _who(reader: Reader, scopes: list[str]) -> Body:
    me = profile_of(reader)
    profile = {"profile": {"name": reader.full_name, "url": me}} if PROFILE in scopes else {}
    return {"me": me, **profile}


def _refusal(
    status: HTTPStatus, code: str, message: str, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    about = {"error": code, "error_description": message}
    return JsonResponse(about, status=status, headers={**OPEN_TO_ALL, **(headers or {})})
