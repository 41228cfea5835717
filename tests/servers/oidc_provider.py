"""OpenID Connect provider on loopback: authlib's authorization server, with one client."""

import json
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from authlib.oauth2 import AuthorizationServer, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from joserfc.jwk import RSAKey

from tests.servers.feed_server import FeedServer, Reply, Request

CLIENT, SECRET = "feedletter", "client-secret-17"


class _Client:
    def __init__(self, back: str) -> None:
        self.back = back

    def get_client_id(self) -> str:
        return CLIENT

    def get_default_redirect_uri(self) -> str:
        return self.back

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, uri: str) -> bool:
        return uri == self.back

    def check_client_secret(self, secret: str) -> bool:
        return secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "client_secret_post"

    def check_response_type(self, kind: str) -> bool:
        return kind == "code"

    def check_grant_type(self, kind: str) -> bool:
        return kind == "authorization_code"


@dataclass
class _Code:
    request: OAuth2Request
    user: dict[str, Any]

    def get_redirect_uri(self) -> Any:
        return self.request.payload.redirect_uri

    def get_scope(self) -> Any:
        return self.request.payload.scope

    def get_nonce(self) -> None:
        return None

    get_auth_time = get_acr = get_amr = get_nonce

    def __getattr__(self, name: str) -> Any:
        """Of PKCE."""
        return self.request.payload.data.get(name)


@dataclass
class OidcProvider:
    """`person` has the claims of who is signed in at the provider."""

    server: FeedServer
    back: str
    person: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, _Code] = field(default_factory=dict)
    tokens: dict[str, dict[str, Any]] = field(default_factory=dict)
    challenged: bool = False

    def __post_init__(self) -> None:
        self.key = RSAKey.generate_key(2048, parameters={"kid": "1"})
        self.library = _Library(self)
        issuer = self.server.url("/oidc")
        about = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "userinfo_endpoint": f"{issuer}/me",
            "jwks_uri": f"{issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }
        self.issuer = issuer
        self.server.answer("/oidc/.well-known/openid-configuration", lambda request: _json(about))
        self.server.answer("/oidc/keys", lambda request: _json({"keys": [self.key.as_dict(private=False)]}))
        self.server.answer("/oidc/authorize", self._authorize)
        self.server.answer("/oidc/token", lambda request: self.library.create_token_response(request))
        self.server.answer("/oidc/me", self._me)

    def sign_in(self, url: str) -> str:
        """Return where the browser is sent, once the person has agreed."""
        request = Request("GET", f"{urlsplit(url).path}?{urlsplit(url).query}", {})
        return dict(self._authorize(request).headers)["Location"]

    def _authorize(self, request: Request) -> Reply:
        grant = self.library.get_consent_grant(request, end_user=self.person)
        self.challenged = bool(grant.request.payload.data.get("code_challenge"))
        answer: Reply = self.library.create_authorization_response(
            grant.request, grant_user=self.person, grant=grant
        )
        return answer

    def _me(self, request: Request) -> Reply:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return _json(self.tokens[token]) if token in self.tokens else Reply(status=401)


class _Library(AuthorizationServer):  # type: ignore[misc]
    def __init__(self, provider: OidcProvider) -> None:
        super().__init__()
        self.provider = provider
        self.register_token_generator("default", BearerTokenGenerator(lambda **_: secrets.token_urlsafe(16)))
        self.register_grant(_grant(provider), [_identity(provider), CodeChallenge(required=True)])

    def query_client(self, client_id: str) -> _Client | None:
        return _Client(self.provider.back) if client_id == CLIENT else None

    def save_token(self, token: dict[str, Any], request: OAuth2Request) -> None:
        self.provider.tokens[token["access_token"]] = request.user

    def create_oauth2_request(self, request: Request | OAuth2Request) -> OAuth2Request:
        if isinstance(request, OAuth2Request):
            return request
        url = self.provider.server.url(request.path)
        made = OAuth2Request(request.method, url, headers=request.headers)
        query, body = dict(parse_qsl(urlsplit(url).query)), dict(parse_qsl(request.body.decode()))
        made._body = body
        made.payload = BasicOAuth2Payload(query | body)
        return made

    def handle_response(self, status: int, body: Any, headers: Any) -> Reply:
        text = body if isinstance(body, str) else json.dumps(body)
        return Reply(text.encode(), status, dict(headers))

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        pass


def _grant(provider: OidcProvider) -> type[AuthorizationCodeGrant]:
    class Grant(AuthorizationCodeGrant):  # type: ignore[misc]
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_post",)

        def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
            provider.codes[code] = _Code(request, dict(request.user))

        def query_authorization_code(self, code: str, client: _Client) -> _Code | None:
            return provider.codes.get(code)

        def delete_authorization_code(self, code: _Code) -> None:
            provider.codes = {name: each for name, each in provider.codes.items() if each is not code}

        def authenticate_user(self, code: _Code) -> dict[str, Any]:
            return code.user

    return Grant


def _identity(provider: OidcProvider) -> OpenIDCode:
    class Identity(OpenIDCode):  # type: ignore[misc]
        def exists_nonce(self, nonce: str, request: OAuth2Request) -> bool:
            return False

        def resolve_client_private_key(self, client: _Client) -> RSAKey:
            return provider.key

        def get_client_algorithm(self, client: _Client) -> str:
            return "RS256"

        def get_client_claims(self, client: _Client) -> dict[str, str]:
            return {"iss": provider.issuer}

        def generate_user_info(self, user: dict[str, Any], scope: str) -> UserInfo:
            return UserInfo(sub=user["sub"])

    return Identity()


def _json(content: Any) -> Reply:
    return Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})


def back_from(url: str) -> str:
    """Return the path and query that the browser asks for."""
    parts = urlsplit(url)
    return f"{parts.path}?{urlencode(parse_qsl(parts.query))}"
