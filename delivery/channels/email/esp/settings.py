"""Reads EMAIL_URL where it names a mail service: anymail+mailgun://KEY@mg.example.org?region=eu."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from delivery.channels.email.esp.services import ALIASES, COMMON_OPTIONS, SERVICES, Service

PREFIX = "anymail+"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class EspSettings:
    """An account with a mail service. Neither its key nor its options are ever shown."""

    esp: str
    key: str = field(repr=False)
    domain: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)

    @property
    def service(self) -> Service:
        return SERVICES[self.esp]

    @property
    def name(self) -> str:
        """For messages to people."""
        return self.service.name

    def without_secrets(self, text: str) -> str:
        """The text, with nothing in it that only we and the service should know."""
        for secret in (self.key, self.secret, self.options.get("webhook_key", "")):
            text = text.replace(secret, "…") if secret else text
        return text


def parse_esp_url(url: str, *, name: str = "EMAIL_URL") -> EspSettings:
    """Raises ImproperlyConfigured with the setting's `name`, without the value in it: it holds a key."""
    try:
        return _parsed(url)
    except _Wrong as error:
        # `from None`: what lies beneath may show part of the URL.
        raise ImproperlyConfigured(f"{name} {error}") from None


def _parsed(url: str) -> EspSettings:
    esp = _esp(url.partition("://")[0])
    parts = _split(url, esp)
    key, secret = unquote(parts.username or ""), unquote(parts.password or "")
    service = SERVICES[esp]
    if not key or (service.secret and not secret):
        raise _wrong("the key is missing", esp)
    if secret and not service.secret:
        raise _wrong("there is a colon in the key; write it as %3A", esp)
    return EspSettings(esp, key, parts.hostname or "", _options(parts.query, esp), secret)


def _esp(scheme: str) -> str:
    name = scheme.lower().removeprefix(PREFIX).replace("_", "-")
    name = ALIASES.get(name, name)
    if name not in SERVICES:
        known = ", ".join(sorted(SERVICES))
        raise _Wrong(f"names a mail service that there is not. There are: {known}.")
    return name


def _split(url: str, esp: str) -> SplitResult:
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _wrong("it contains a space or a control character", esp)
    try:
        # An underscore in the scheme would end it.
        parts = urlsplit("esp://" + url.partition("://")[2])
        port = parts.port  # raises ValueError when it is no port
    except ValueError:
        # `from None`: the ValueError shows part of the URL.
        raise _wrong("its domain cannot be read", esp) from None
    if port is not None or parts.path.strip("/") or parts.fragment:
        raise _wrong("something else follows the domain; write / as %2F and # as %23 in a key", esp)
    return parts


def _options(query: str, esp: str) -> dict[str, str]:
    service, options = SERVICES[esp], dict(parse_qsl(query))
    known = {*service.options, *COMMON_OPTIONS, *(("region",) if service.regions else ())}
    for name in options:
        if name not in known:
            # Not the name itself: what follows a ? in a key that was not encoded would be shown.
            raise _wrong(f"an option is unknown; {service.name} takes {', '.join(sorted(known))}", esp)
    for name in service.required:
        if not options.get(name):
            raise _wrong(f"the option {name} is missing", esp)
    if service.regions and options.get("region", "us") not in service.regions:
        raise _wrong(f"the region is none of {', '.join(service.regions)}", esp)
    if "api_url" in options and not _is_safe(options["api_url"]):
        raise _wrong("api_url has to begin with https://", esp)
    return options


def _is_safe(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if not parts.hostname or parts.username or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)


def expected(esp: str) -> str:
    """How EMAIL_URL has to look for that service."""
    service = SERVICES[esp]
    options = "&".join(f"{name}=…" for name in service.required)
    return f"{PREFIX}{esp}://KEY{':SECRET' if service.secret else ''}@domain{'?' if options else ''}{options}"


class _Wrong(ValueError):
    """What is wrong, as the rest of a sentence that begins with the setting's name."""


def _wrong(why: str, esp: str) -> _Wrong:
    return _Wrong(f"is wrong, {why}: expected {expected(esp)}.")
