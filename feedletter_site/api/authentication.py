"""`Authorization: Bearer KEY` (RFC 6750)."""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.authentication import SessionAuthentication as DrfSession
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from common.api.permissions import scope_for
from common.clock import utcnow
from feedletter_site.models import ApiToken
from feedletter_site.services.tokens import BadToken, token_of

CHALLENGE = 'Bearer realm="api"'
NO_KEY = "Give the token as “Authorization: Bearer KEY”."


class TokenAuthentication(BaseAuthentication):
    """`request.auth` is the token. It may do what its scopes say, and its maker must be allowed the same."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiToken] | None:
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        if scheme.lower() != "bearer" or not key.strip():
            raise AuthenticationFailed(NO_KEY)
        try:
            return AnonymousUser(), token_of(key=key.strip(), now=utcnow())
        except BadToken as error:
            raise AuthenticationFailed(str(error)) from error

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class SessionAuthentication(DrfSession):
    """Staff who are signed in to the admin. A request that changes something needs the CSRF token."""


class _TokenInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token made in the admin or by `create_api_token`, with the scopes named here.",
        }

    def get_security_requirement(self, auto_schema: Any) -> dict[str, list[str]]:
        # OpenAPI 3.1.0 §4.8.30: the list names required roles.
        area = getattr(auto_schema.view, "area", "")
        return {self.name: [scope_for(area, auto_schema.method)] if area else []}


class _SessionInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "Staff signed in to the admin, with their permissions. Changes need X-CSRFToken.",
        }
