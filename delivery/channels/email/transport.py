"""Reads EMAIL_URL: where letters go."""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

EXPECTED = (
    "smtp://user:password@host:25, smtps://user:password@host:465, smtp+starttls://user:password@host:587 "
    "(without user:password@ where the server asks for none), or mailbox: to keep letters here"
)
PLAIN, STARTTLS, IMPLICIT = "plain", "starttls", "implicit"
_SECURITY = {"smtp": PLAIN, "smtp+starttls": STARTTLS, "smtps": IMPLICIT}
_PORTS = {PLAIN: 25, STARTTLS: 587, IMPLICIT: 465}


@dataclass(frozen=True, slots=True)
class SmtpSettings:
    """An SMTP server. `security` is plain, starttls or implicit; an empty user logs in nowhere."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    security: str = PLAIN

    @property
    def name(self) -> str:
        """host:port, for messages to people."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Mailbox:
    """No server: letters are kept for the mailbox page."""


def transport() -> SmtpSettings | Mailbox:
    """What settings.EMAIL_URL says now. Raises ImproperlyConfigured."""
    return parse_email_url(settings.EMAIL_URL)


def parse_email_url(url: str) -> SmtpSettings | Mailbox:
    """Raises ImproperlyConfigured, without the value in it: it may hold a password."""
    if not url:
        raise ImproperlyConfigured(f"EMAIL_URL is empty: expected {EXPECTED}.")
    if url == "mailbox:":
        return Mailbox()
    scheme = url.partition(":")[0].lower()
    if scheme.startswith("anymail+"):
        raise ImproperlyConfigured(f"EMAIL_URL: {scheme}:// is not supported yet; expected {EXPECTED}.")
    if scheme not in _SECURITY:
        raise _wrong("its beginning is none of these")
    return _smtp(_split(url), _SECURITY[scheme])


def _split(url: str) -> SplitResult:
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _wrong("it contains a space or a control character")
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError when it is no port
    except ValueError:
        # `from None`: the ValueError shows part of the URL.
        raise _wrong("its host or port cannot be read") from None
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise _wrong("something follows the port; write / as %2F, ? as %3F and # as %23 in a password")
    return parts


def _smtp(parts: SplitResult, security: str) -> SmtpSettings:
    if not parts.hostname:
        raise _wrong("the host is missing")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password):
        raise _wrong("user and password go together")
    port = _PORTS[security] if parts.port is None else parts.port
    if not port:
        raise _wrong("the port is 0")
    return SmtpSettings(parts.hostname, port, user, password, security)


def _wrong(why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"EMAIL_URL is wrong, {why}: expected {EXPECTED}.")
