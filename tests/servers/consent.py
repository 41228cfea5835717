"""OAuth consent page and code exchange of a fake service."""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from html import escape
from urllib.parse import urlencode

from tests.servers.api_server import Reply, Request

PAGE = """<!doctype html><html lang="en"><title>{service}</title><h1>{service}: may {app} post?</h1>
<p>It asks for {scope}.</p><a href="{yes}">Yes</a> <a href="{no}">No</a>"""


@dataclass
class App:
    """Registered application; `redirects` are its only valid redirect URIs."""

    client_id: str
    client_secret: str
    redirects: list[str]
    scopes: set[str] = field(default_factory=set)
    name: str = "Feedletter"


@dataclass
class Yes:
    """Grant behind an authorization code."""

    app: App
    redirect: str
    scope: str
    challenge: str = ""


class Consent:
    """Consent page and issued codes.

    `codes_are_over` expires all codes, as after ten minutes. `error` is sent with the redirect instead of a
    code.
    """

    def __init__(self, service: str) -> None:
        self.service = service
        self.apps: dict[str, App] = {}
        self.codes: dict[str, Yes] = {}
        self.codes_are_over = False
        self.error = ""
        self.asked_for: list[dict[str, str]] = []

    def page(self, request: Request) -> Reply:
        """Return the consent page, or the redirect once it is answered."""
        given, app = request.query, self.apps.get(request.query.get("client_id", ""))
        if app is None:
            return Reply(401, "Unknown client", {"Content-Type": "text/plain"})
        if given.get("redirect_uri") not in app.redirects:
            return Reply(400, "The redirect URI is not valid", {"Content-Type": "text/plain"})
        answer = given.pop("answer", "")
        if not answer:
            self.asked_for.append(given)
            links = {word: escape(f"?{urlencode({**given, 'answer': word})}") for word in ("yes", "no")}
            page = PAGE.format(
                service=self.service, app=app.name, scope=escape(given.get("scope", "")), **links
            )
            return Reply(200, page, {"Content-Type": "text/html; charset=utf-8"})
        return Reply(302, "", {"Location": self._led_back(app, given, answer)})

    def _led_back(self, app: App, given: dict[str, str], answer: str) -> str:
        wanted = set(given.get("scope", "").split())
        if answer == "no":
            said = {"error": "access_denied", "error_description": "The resource owner denied the request."}
        elif self.error:
            said = {"error": self.error, "error_description": "The server <b>is</b> tired."}
        elif given.get("response_type") != "code" or not wanted or not wanted <= (app.scopes or wanted):
            said = {"error": "invalid_scope"}
        else:
            code = secrets.token_hex(12)
            challenge = given.get("code_challenge", "")
            if challenge and given.get("code_challenge_method") != "S256":
                return f"{given['redirect_uri']}?error=invalid_request"
            self.codes[code] = Yes(app, given["redirect_uri"], given["scope"], challenge)
            said = {"code": code}
        return f"{given['redirect_uri']}?{urlencode({**said, 'state': given.get('state', '')})}"

    def redeem(self, request: Request) -> Yes | str:
        """Use up a code and return its grant, or an error code of RFC 6749 §5.2."""
        form = request.form
        app = self.apps.get(form.get("client_id", ""))
        if app is None or not secrets.compare_digest(form.get("client_secret", ""), app.client_secret):
            return "invalid_client"
        if form.get("grant_type") != "authorization_code":
            return "unsupported_grant_type"
        yes = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if yes is None or yes.app is not app or self.codes_are_over:
            return "invalid_grant"
        if yes.redirect != form.get("redirect_uri") or (yes.challenge and yes.challenge != challenge):
            return "invalid_grant"
        return yes
