"""Authorization code grant (RFC 6749 §4.1), which obtains a destination's data from its service."""

import base64
import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlencode

from channels.base import Outcome, Sent
from channels.fields import needed, secret, secret_word
from channels.http.client import ApiClient, Failed, UnreadableAnswer
from channels.http.outcomes import ApiService
from channels.http.transport import ApiResponse, Transport
from common.clock import utcnow
from common.ports.channels import Field
from common.refused import Refused
from common.text import one_line, shortened, words

T = TypeVar("T")
AGAIN = "Press Connect again."
LONGEST_SECRET, LONGEST_SAID = 2_000, 300
# RFC 6749 §5.2, and Slack's equivalents.
# https://docs.slack.dev/reference/methods/oauth.v2.access
CODE_IS_OVER = words("invalid_grant invalid_code code_already_used code_expired")
APP_IS_UNKNOWN = words("invalid_client unauthorized_client bad_client_secret invalid_client_id")
REDIRECT_IS_WRONG = words("bad_redirect_uri redirect_uri_mismatch")


class NotConnected(Refused):
    """The message is for the person who pressed the button."""


class AppUnknown(NotConnected):
    """The service does not know our application or its secret."""


@dataclass(frozen=True, slots=True)
class Authorisation:
    """URL to open, and data to keep for `finish`."""

    url: str
    kept: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """Fields of a destination, and details of the place."""

    fields: Mapping[str, str] = field(repr=False)
    config: Mapping[str, str] = field(default_factory=dict)
    label: str = ""


class OAuth(ABC):
    """`key` and `label` name its applications among service accounts.

    `asks` are fields needed first. With `account_fields` an admin creates the application; without,
    `register` does.
    """

    key: str
    label: str
    service: str
    asks: tuple[str, ...] = ()
    account_fields: tuple[Field, ...] = ()
    steps: tuple[str, ...] = ()
    needs_https = False

    def known_as(self, given: Mapping[str, str]) -> str:
        return self.service

    def check_account(self, values: Mapping[str, str]) -> str:
        """Only a connection can test an application."""
        return values["client_id"]

    def register(self, given: Mapping[str, str], return_url: str) -> Mapping[str, str]:
        """Register at the service (network). Raises NotConnected."""
        raise NotConnected(f"{self.label} isn’t set up. Add it first.")

    def is_known(self, app: Mapping[str, str], given: Mapping[str, str]) -> bool:
        """Return whether the service still knows the application (network)."""
        return True

    @abstractmethod
    def begin(
        self, given: Mapping[str, str], return_url: str, state: str, app: Mapping[str, str]
    ) -> Authorisation:
        """Return the URL to open (network); `given` are the fields so far. Raises NotConnected."""

    @abstractmethod
    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        """Exchange the code (network). Raises NotConnected."""


class WebhookOAuth(OAuth):
    """Fixed URLs; creates a webhook. The access token is not stored."""

    authorise_address: str
    token_address: str
    scope: str

    def begin(
        self, given: Mapping[str, str], return_url: str, state: str, app: Mapping[str, str]
    ) -> Authorisation:
        url = authorise_url(self.authorise_address, app, return_url, scope=self.scope, state=state)
        return Authorisation(url)

    def finish(self, code: str, return_url: str, kept: Mapping[str, str], app: Mapping[str, str]) -> Grant:
        def ask(client: ApiClient) -> Grant:
            form = token_form(code, return_url, app)
            return client.call(
                "POST", self.token_address, read=self.granted, data=form, headers=self.headers()
            )

        return ask_service(ask, self.token_address, self.service, hidden=(code, app["client_secret"]))

    def headers(self) -> Mapping[str, str]:
        return {}

    @abstractmethod
    def granted(self, answer: ApiResponse) -> Grant:
        """Read the new webhook. Raises UnreadableAnswer."""


def application_fields(where: str) -> tuple[Field, ...]:
    return (
        needed("client_id", "Client ID", f"From {where}.", secret_word),
        secret("client_secret", "Client secret", f"From {where}."),
    )


def authorise_url(address: str, app: Mapping[str, str], return_url: str, **more: str) -> str:
    """RFC 6749 §4.1.1; `more` are scope, state and the like."""
    asked = {"response_type": "code", "client_id": app["client_id"], "redirect_uri": return_url, **more}
    return f"{address}?{urlencode(asked)}"


def token_form(code: str, return_url: str, app: Mapping[str, str], **more: str) -> dict[str, str]:
    """RFC 6749 §4.1.3."""
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": return_url,
        "client_id": app["client_id"],
        "client_secret": app["client_secret"],
        **more,
    }


def new_verifier() -> tuple[str, str]:
    """Return verifier and S256 challenge (RFC 7636 §4.1 and §4.2)."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def code_of_yes(params: Mapping[str, str], service: str) -> str:
    """Return the code from a redirect (RFC 6749 §4.1.2). Raises NotConnected."""
    error = params.get("error", "")
    if error == "access_denied":
        raise NotConnected(f"You declined access at {service}, so nothing was connected.")
    if error:
        said = params.get("error_description", "") or error
        raise NotConnected(f"{service} said: {shortened(one_line(said), LONGEST_SAID)}")
    code = params.get("code", "")
    if not 0 < len(code) <= LONGEST_SECRET:
        raise NotConnected(f"{service} redirected back without a response. {AGAIN}")
    return code


def a_secret(said: object) -> str:
    """Raises UnreadableAnswer."""
    if not isinstance(said, str) or not 0 < len(said) <= LONGEST_SECRET:
        raise UnreadableAnswer("It returned no usable response.")
    return said


def ask_service(act: Callable[[ApiClient], T], url: str, service: str, *, hidden: Collection[str] = ()) -> T:
    """Call `act` with a client (network), masking `hidden`. Raises NotConnected."""
    # Slack reports errors with status 200.
    speaks = ApiService(
        service,
        words=lambda answer: answer.text_at("error_description") or answer.text_at("error"),
        code=lambda answer: answer.at("error"),
        hides_failures_in=frozenset({200}),
    )
    with closing(Transport()) as transport:
        client = ApiClient(transport, url, speaks, utcnow(), secrets=hidden)
        try:
            return act(client)
        except Failed as failed:
            answer = client.transport.answer
            raise _refusal(answer.at("error") if answer else "", failed.outcome, service) from None


def _refusal(code: object, outcome: Outcome, service: str) -> NotConnected:
    if code in CODE_IS_OVER:
        return NotConnected(f"The code from {service} was already used or has expired. {AGAIN}")
    if code in APP_IS_UNKNOWN:
        return AppUnknown(f"{service} doesn’t recognise our application’s ID and secret.")
    if code in REDIRECT_IS_WRONG:
        return NotConnected(f"{service} can’t redirect here because the application lacks our redirect URL.")
    why = "" if isinstance(outcome, Sent) else outcome.text.removeprefix("Nothing was posted: ")
    return NotConnected(f"Nothing was connected: {why}")
