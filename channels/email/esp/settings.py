"""EMAIL_URL for mail services: anymail+mailgun://KEY@mg.example.org?region=eu."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from channels.email.esp.services import ALIASES, COMMON_OPTIONS, SERVICES, MailService

ANYMAIL_PREFIX = "anymail+"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class EspSettings:
    """Key and options are secret."""

    esp: str
    key: str = field(repr=False)
    domain: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)

    @property
    def service(self) -> MailService:
        return SERVICES[self.esp]

    @property
    def name(self) -> str:
        return self.service.name

    def without_secrets(self, text: str) -> str:
        for secret in (self.key, self.secret, self.options.get("webhook_key", "")):
            text = text.replace(secret, "…") if secret else text
        return text


def parse_esp_url(url: str, *, name: str = "EMAIL_URL") -> EspSettings:
    """Raises ImproperlyConfigured without the value, which holds a key."""
    scheme, _, rest = url.partition("://")
    esp = scheme.lower().removeprefix(ANYMAIL_PREFIX).replace("_", "-")
    esp = ALIASES.get(esp, esp)
    if esp not in SERVICES:
        known = ", ".join(sorted(SERVICES))
        raise ImproperlyConfigured(f"{name} names an unknown email service. Supported: {known}.")
    try:
        if any(character.isspace() or not character.isprintable() for character in url):
            raise _Wrong("it contains a space or a control character")
        # urlsplit does not allow an underscore in the scheme.
        parts = urlsplit(f"esp://{rest}")
        if parts.port is not None or parts.path.strip("/") or parts.fragment:
            raise _Wrong("the domain is followed by something else; write / as %2F and # as %23 in a key")
        service, options = SERVICES[esp], dict(parse_qsl(parts.query))
        key, secret = unquote(parts.username or ""), unquote(parts.password or "")
        if not key or (service.secret and not secret):
            raise _Wrong("the key is missing")
        if secret and not service.secret:
            raise _Wrong("write the colon in the key as %3A")
        _check_options(options, service)
    except ValueError as error:
        # An invalid port raises ValueError. `from None`: it shows part of the URL.
        why = error if isinstance(error, _Wrong) else "its domain can’t be read"
        raise ImproperlyConfigured(f"{name} is wrong, {why}: expected {expected(esp)}.") from None
    return EspSettings(esp, key, parts.hostname or "", options, secret)


def _check_options(options: Mapping[str, str], service: MailService) -> None:
    known = {*service.options, *COMMON_OPTIONS, *(("region",) if service.regions else ())}
    if not options.keys() <= known:
        # Not its name: it may be part of an unencoded key after a "?".
        raise _Wrong(f"an option is unknown; {service.name} takes {', '.join(sorted(known))}")
    for name in service.required:
        if not options.get(name):
            raise _Wrong(f"the option {name} is missing")
    if service.regions and options.get("region", "us") not in service.regions:
        raise _Wrong(f"the region must be one of {', '.join(service.regions)}")
    if "api_url" in options:
        try:
            parts = urlsplit(options["api_url"])
        except ValueError:
            parts = urlsplit("")
        # An unencrypted key may only be sent to this machine.
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        if not (is_safe and parts.hostname) or parts.username or parts.query or parts.fragment:
            raise _Wrong("api_url must start with https://")


def expected(esp: str) -> str:
    service = SERVICES[esp]
    secret, options = ":SECRET" if service.secret else "", "&".join(f"{name}=…" for name in service.required)
    return f"{ANYMAIL_PREFIX}{esp}://KEY{secret}@domain{'?' if options else ''}{options}"


class _Wrong(ValueError):
    """The message continues a sentence that begins with the setting's name."""
