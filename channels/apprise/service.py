"""One service of Apprise's, made anew for each message: it sleeps between those of one object."""

import re
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import requests

from channels.http.transport import LONGEST_URL
from common.net.addresses import Network
from common.net.client import SafeClient, client
from common.net.errors import AddressRefused, host_of, never_left
from common.text import words
from common.transactions import forbid_open_transaction

# Their servers are the user's own, so that they may be at private addresses.
OWN_SERVERS = words(
    "bark barks gotify gotifys humhub humhubs ncloud nclouds nctalk nctalks signal signals smseagle smseagles"
    " synology synologys workflow workflows zulip"
)
FIXED_SERVERS = words(
    "46elks bulksms burstsms clickatell clicksend d7sms dingtalk feishu flock gchat groupme guilded join"
    " kavenegar lark line msgbird nexmo onesignal opsgenie pbul plivo pover prowl pushed pushy"
    " revolt ryver seven sinch spugpush threema voipms vonage webex wecombot wxteams"
)
# What is ours to say.
RESERVED = words(
    "attach body cto emojis format host overflow proxy redirect redirects retry rto store title tz url verify"
    " wait"
)


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """`host` is empty where the service has one address for all."""

    schema: str
    host: str = ""


def service_address(url: str) -> ServiceAddress:
    """What an Apprise URL says of its server. Raises ValueError with a sentence that does not repeat it."""
    schema, _, rest = url.partition("://")
    schema = schema.lower()
    if not rest or len(url) > LONGEST_URL or not re.fullmatch("[!-~]+", url):
        raise ValueError("it is no Apprise URL, such as gotifys://host/token.")
    if schema not in OWN_SERVERS | FIXED_SERVERS:
        allowed = ", ".join(sorted(OWN_SERVERS | FIXED_SERVERS))
        raise ValueError(f"this service cannot be used here. There are: {allowed}.")
    try:
        parts = urlsplit(f"//{rest}")
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("its host cannot be read.") from None
    if taken := RESERVED & {name.lstrip("+-:").lower() for name, _ in parse_qsl(parts.query, True)}:
        raise ValueError(f"leave out {', '.join(sorted(taken))}: that is not the URL's to say.")
    if schema in FIXED_SERVERS:
        return ServiceAddress(schema)
    if not host:
        raise ValueError("it has no host.")
    return ServiceAddress(schema, host)


def secrets_of(url: str) -> list[str]:
    """What no outcome may show of a URL: the whole, and all in it but short words and the server's name."""
    host = service_address(url).host
    return [url, *(part for part in re.split("[/?&=:@]", url) if len(part) >= 8 and part.lower() != host)]


class CannotUse(Exception):
    """Nothing was sent. The message is a sentence for people, without secrets."""


@dataclass(frozen=True, slots=True)
class ServiceReply:
    """Whether a service took a message, and else what Apprise logged of it."""

    taken: bool
    words: str = ""


class _Call:
    """The requests of one message: through the guarded session, or none if it is only a look."""

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
    """The module `requests` as Apprise's plugins see it: its calls go through the guarded session.

    Each plugin reads an Apprise URL in its own way, so a check of the URL before the call may be about
    another host. Only the call itself can be checked.
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
    """Replace `requests` in the modules of a plugin and of the plugins it inherits from."""
    for base in plugin.__mro__:
        module = sys.modules[base.__module__]
        if getattr(module, "requests", None) is requests:
            module.requests = _guarded  # type: ignore[attr-defined]


class ApprisedService:
    """Raises CannotUse for a URL that Apprise cannot read, or that has another number of targets than one."""

    def __init__(self, url: str, *, timeout: float, allow: Sequence[Network] | None = None) -> None:
        # It is large, and most processes never need it.
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
            raise CannotUse("Apprise cannot read this URL.")
        guard(type(self._service))
        if len(self._service) != 1:
            raise CannotUse("The URL has to have one target: make a destination for each.")
        self._schema, self._allow = service_address(url).schema, allow
        self._service.socket_connect_timeout = self._service.socket_read_timeout = timeout

    @property
    def most_characters(self) -> int:
        return int(self._service.body_maxlen)

    def send(self, text: str) -> ServiceReply:
        """Send the text (network). Raises CannotUse when nothing was sent."""
        call, reply = self._notify(text)
        failure = call.failure
        if reply.taken or failure is None or len(call.urls) > 1 or not never_left(failure):
            return reply
        raise _unreachable(call.urls[0], failure)

    def reach(self) -> None:
        """Ask the user's own server for its front page, to see that it may be called and listens (network).

        Raises CannotUse.
        """
        if self._schema not in OWN_SERVERS:
            return
        look, _ = self._notify("-", is_look=True)
        url = look.urls[0] if look.urls else ""
        try:
            front = urljoin(url, "/")
            _Call(self._allow, is_look=False).request(
                "HEAD", front, timeout=self._service.socket_read_timeout
            )
        except requests.RequestException as error:
            if never_left(error):
                raise _unreachable(url, error) from None

    def _notify(self, text: str, *, is_look: bool = False) -> tuple[_Call, ServiceReply]:
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
        return call, ServiceReply(bool(result), " ".join(str(entry.message) for entry in result.logs()))


def _unreachable(url: str, error: requests.RequestException) -> CannotUse:
    host = host_of(url)
    if isinstance(error, AddressRefused):
        return CannotUse(f"{host} has a private address, which ALLOW_PRIVATE_NETWORKS does not name.")
    return CannotUse(f"{host} cannot be reached.")
