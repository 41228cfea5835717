"""Sends with Apprise and interprets its log.

One service per message, because Apprise sleeps between an object's messages.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import requests

from channels import fields
from channels.announcement import Announcement
from channels.base import Ambiguous, CrashPolicy, LaneDefaults, Looks, Outcome, Permanent, Sent, Temporary
from channels.bridge import Bridge
from channels.http.client import ApiClient, Target, masked
from channels.http.links import WORD_JOINER
from channels.http.outcomes import ABOUT_MESSAGE, LONGEST_WORDS, SERVICE_DOWN, ApiService
from channels.http.transport import LONGEST_URL
from channels.wording import parts_of
from common.net.addresses import Network
from common.net.client import SafeClient, client
from common.net.errors import AddressRefused, host_of, never_left
from common.ports.channels import InvalidDestination, ParsedDestination
from common.text import words
from common.transactions import forbid_open_transaction
from common.truncation import FittingPart, fit_parts

# Run by users, so private addresses are possible.
OWN_SERVERS = words(
    "bark barks gotify gotifys humhub humhubs ncloud nclouds nctalk nctalks signal signals smseagle smseagles"
    " synology synologys workflow workflows zulip"
)
FIXED_SERVERS = words(
    "46elks bulksms burstsms clickatell clicksend d7sms dingtalk feishu flock gchat groupme guilded join"
    " kavenegar lark line msgbird nexmo onesignal opsgenie pbul plivo pover prowl pushed pushy"
    " revolt ryver seven sinch spugpush threema voipms vonage webex wecombot wxteams"
)
# Set only by us.
RESERVED = words(
    "attach body cto emojis format host overflow proxy redirect redirects retry rto store title tz url verify"
    " wait"
)
MOST_CHARACTERS = 2_000
# Mentions, and beginnings of Markdown or bracketed links.
_SIGNS = re.compile(r"@|<|\](?=[(\[])")
# Apprise hides the answer's text, so a refusal counts only if it persists.
REFUSALS, REFUSALS_BELIEVED = (401, 403, 404, 410), 3
# Status codes in Apprise's logs.
_STATUS = re.compile(r"error=(\d{3})\b")


def service_address(url: str) -> tuple[str, str]:
    """Return schema and host; "" if that is fixed. Raises ValueError, whose text does not repeat the URL."""
    schema, _, rest = url.partition("://")
    schema = schema.lower()
    if not rest or len(url) > LONGEST_URL or not re.fullmatch("[!-~]+", url):
        raise ValueError("this isn’t an Apprise URL, such as gotifys://host/token.")
    if schema not in OWN_SERVERS | FIXED_SERVERS:
        allowed = ", ".join(sorted(OWN_SERVERS | FIXED_SERVERS))
        raise ValueError(f"this service isn’t supported. Supported: {allowed}.")
    try:
        parts = urlsplit(f"//{rest}")
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("the host can’t be read.") from None
    if taken := RESERVED & {name.lstrip("+-:").lower() for name, _ in parse_qsl(parts.query, True)}:
        raise ValueError(f"remove {', '.join(sorted(taken))}. It can’t be set in the URL.")
    if schema in FIXED_SERVERS:
        return schema, ""
    if not host:
        raise ValueError("the host is missing.")
    return schema, host


class CannotUse(Exception):
    """Nothing was sent. The message is for people, without secrets."""


class _Call:
    """Requests of one message through the guarded session; a look sends none."""

    def __init__(self, allow: Sequence[Network] | None, *, is_look: bool) -> None:
        self._client = client() if allow is None else SafeClient(allow=allow)
        self._is_look = is_look
        self.urls: list[str] = []
        self.failure: requests.RequestException | None = None

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        self.urls.append(url)
        try:
            if self._is_look:
                raise requests.ConnectionError("only looking")
            with self._client.session() as session:
                return session.request(method, url, **{**options, "allow_redirects": False})
        except requests.RequestException as error:
            self.failure = error
            raise


_call: ContextVar[_Call] = ContextVar("apprise_call")


class GuardedRequests(ModuleType):
    """The module `requests` as seen by plugins, with guarded calls.

    Plugins parse URLs differently, so a check of the URL might apply to another host. Only the call can be
    checked.
    """

    def __getattr__(self, name: str) -> Any:
        if name in ("get", "post", "put", "patch", "delete", "head", "options"):
            return partial(self.request, name.upper())
        if name in ("Session", "session", "sessions", "api"):
            raise AttributeError(f"requests.{name} is not guarded")
        return getattr(requests, name)

    @staticmethod
    def request(method: str, url: str, **options: Any) -> requests.Response:
        return _call.get().request(method, url, **options)


_guarded = GuardedRequests("requests")


def guard(plugin: type) -> None:
    """Replace `requests` in a plugin's modules."""
    for base in plugin.__mro__:
        module = sys.modules[base.__module__]
        if getattr(module, "requests", None) is requests:
            module.requests = _guarded  # type: ignore[attr-defined]


class ApprisedService:
    """Raises CannotUse for an unreadable URL or several targets."""

    def __init__(self, url: str, *, timeout: float, allow: Sequence[Network] | None = None) -> None:
        # Large, and most processes do not need it.
        import apprise

        self._asset = apprise.AppriseAsset(
            async_mode=False,
            http_redirects=False,
            interpret_emojis=False,
            app_id="Feedletter",
            app_desc="Feedletter",
            app_url="",
            image_url_mask="",
            image_url_logo="",
        )
        self._service: Any = apprise.Apprise.instantiate(url, asset=self._asset)
        if self._service is None:
            raise CannotUse("Apprise can’t read this URL.")
        guard(type(self._service))
        if len(self._service) != 1:
            raise CannotUse("The URL must have exactly one target. Create a destination for each.")
        self._schema, self._allow = service_address(url)[0], allow
        self.most_characters = int(self._service.body_maxlen)
        self._service.socket_connect_timeout = self._service.socket_read_timeout = timeout

    def send(self, text: str) -> tuple[bool, str]:
        """Return whether it was sent, and Apprise's log. Raises CannotUse if nothing was sent (network)."""
        call, is_sent, words = self._notify(text)
        failure = call.failure
        if is_sent or failure is None or len(call.urls) > 1 or not never_left(failure):
            return is_sent, words
        raise _unreachable(call.urls[0], failure)

    def reach(self) -> None:
        """Request the server's front page: is it allowed, and does it listen? Raises CannotUse (network)."""
        if self._schema not in OWN_SERVERS:
            return
        look, *_ = self._notify("-", is_look=True)
        url = look.urls[0] if look.urls else ""
        try:
            front = urljoin(url, "/")
            _Call(self._allow, is_look=False).request(
                "HEAD", front, timeout=self._service.socket_read_timeout
            )
        except requests.RequestException as error:
            if never_left(error):
                raise _unreachable(url, error) from None

    def _notify(self, text: str, *, is_look: bool = False) -> tuple[_Call, bool, str]:
        import apprise

        forbid_open_transaction()
        sender = apprise.Apprise(asset=self._asset)
        sender.add(self._service)
        call = _Call(self._allow, is_look=is_look)
        token = _call.set(call)
        try:
            result = sender.notify(body=text, body_format=apprise.NotifyFormat.TEXT)
        finally:
            _call.reset(token)
        return call, bool(result), " ".join(str(entry.message) for entry in result.logs())


def _unreachable(url: str, error: requests.RequestException) -> CannotUse:
    host = host_of(url)
    if isinstance(error, AddressRefused):
        return CannotUse(f"{host} has a private address, which ALLOW_PRIVATE_NETWORKS doesn’t allow.")
    return CannotUse(f"{host} can’t be reached.")


def apprise_url(typed: str) -> str:
    service_address(typed)
    return typed


class AppriseBridge(Bridge):
    """Services that have no folder in channels/."""

    key = "apprise"
    label = "Apprise (without receipts)"
    sentence = "Posts through Teams, Gotify, Pushover, Signal and some fifty other services."
    # No key, and no look-up.
    crash_policy = CrashPolicy.HOLD
    # Its slowest services require 5.5 seconds between messages.
    lane = LaneDefaults(spacing_seconds=6.0)
    address_field = "apprise_url"
    destination_fields = (
        fields.name("phone"),
        fields.secret(
            "apprise_url",
            "Apprise URL",
            "One service and one target, such as gotifys://host/token. Apprise only reports whether "
            "the service accepted a message, so posts can’t be edited or deleted later.",
            apprise_url,
        ),
    )
    service = ApiService(name="Apprise", words=lambda answer: "")
    # Private networks that may be called. None: as the settings say.
    allow: Sequence[Network] | None = None

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is name@service."""
        schema, _ = service_address(given["apprise_url"])
        account = given["account"]
        return ParsedDestination(
            core=f"{account}@{schema}",
            label=f"{account} by {schema}",
            config={"account": account},
            secrets={"apprise_url": given["apprise_url"]},
        )

    def body(self, post: Announcement, options: Mapping[str, str]) -> tuple[FittingPart, ...]:
        """Break mentions by an invisible joiner. Not yet cut to the service's limit."""
        return tuple(
            part if part.link else replace(part, text=_SIGNS.sub(rf"\g<0>{WORD_JOINER}", part.text))
            for part in parts_of(post, options.get("template", ""))
        )

    def looks(self, body: Sequence[FittingPart]) -> Looks:
        """Our own limit; the service's may be lower."""
        text = fit_parts(body, lambda text: len(text) <= MOST_CHARACTERS)
        return Looks(text.replace(WORD_JOINER, ""), len(text), MOST_CHARACTERS)

    def hidden(self, to: Target) -> list[str]:
        """All but short words and the server's name."""
        url = self.address(to)
        parts, (_, host) = re.split("[/?&=:@]", url), service_address(url)
        return [url, *(part for part in parts if len(part) >= 8 and part.lower() != host)]

    def post(self, api: ApiClient, body: Sequence[FittingPart]) -> Outcome:
        """Three refusals, counted in `progress`, disable the destination."""
        try:
            service = self._service(api)
            most = min(service.most_characters, MOST_CHARACTERS)
            is_sent, words = service.send(fit_parts(body, lambda text: len(text) <= most))
        except CannotUse as error:
            return masked(Temporary(f"Nothing was posted: {error}", stops_lane=True), api.secrets)
        outcome = Sent() if is_sent else _refusal(words, service_address(api.url)[0], api.progress)
        return masked(outcome, api.secrets)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Nothing is posted, so the token is not tested."""
        try:
            self._service(api).reach()
        except CannotUse as error:
            raise InvalidDestination(f"apprise_url: {error}") from None
        return destination

    def _service(self, api: ApiClient) -> ApprisedService:
        return ApprisedService(api.url, timeout=self.timeout, allow=self.allow)


def _refusal(words: str, schema: str, progress: Mapping[str, Any]) -> Outcome:
    said = f"{schema}, by Apprise: {words[:LONGEST_WORDS] or 'not sent.'}"
    match = _STATUS.search(words)
    if match is None:
        # A lost answer cannot be told from other failures.
        return Ambiguous(said)
    status = int(match[1])
    if status in REFUSALS:
        count = int(progress.get("refusals", 0)) + 1
        if count >= REFUSALS_BELIEVED:
            return Permanent(f"{said} Save a working URL.", disables=True)
        return Temporary(said, progress={"refusals": count})
    if status in ABOUT_MESSAGE:
        return Permanent(said)
    stops = status == 429 or status in SERVICE_DOWN or 300 <= status < 400
    return Temporary(said, stops_lane=stops, suspect=stops)
