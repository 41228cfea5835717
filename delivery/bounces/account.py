"""Parse BOUNCE_URL, the mailbox for bounces."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

_BOUNCE_URL_FORMS = (
    "imaps://user:password@host/INBOX, imap://…, pop3s://user:password@host, pop3://…, or maildir:///path"
)
_PORTS = {"imaps": 993, "imap": 143, "pop3s": 995, "pop3": 110}


@dataclass(frozen=True, slots=True)
class MailAccount:
    """Mailbox on a server. `scheme`: imaps, imap, pop3s or pop3; POP3 has no `folder`."""

    scheme: str
    host: str
    port: int
    user: str
    password: str = field(repr=False)
    folder: str = "INBOX"

    @property
    def name(self) -> str:
        """Return the address without the password."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def is_open(self) -> bool:
        """Return whether the password is sent unencrypted over a network."""
        return not self.scheme.endswith("s") and self.host not in ("localhost", "127.0.0.1", "::1")


def parse_bounce_url(url: str) -> MailAccount | Path | None:
    """Return None if empty. Raises ImproperlyConfigured without the URL, which has a password."""
    if not url:
        return None
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _wrong("it contains a space or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port  # ValueError if wrong
    except ValueError:
        # `from None`: the ValueError shows part of the URL.
        raise _wrong("its host or port cannot be read") from None
    if parts.query or parts.fragment:
        raise _wrong("write ? as %3F and # as %23 in a password")
    if parts.scheme == "maildir":
        path = Path(unquote(parts.path))
        if parts.netloc or not path.is_absolute() or path == Path("/"):
            raise _wrong("a Maildir has three slashes and an absolute path")
        return path
    if parts.scheme not in _PORTS:
        raise _wrong("its beginning is none of these")
    port = _PORTS[parts.scheme] if port is None else port
    if not parts.hostname or not port:
        raise _wrong("the host or port is missing")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not user or not password:
        raise _wrong("it needs user and password")
    folder = unquote(parts.path.strip("/"))
    if folder and parts.scheme.startswith("pop3"):
        raise _wrong("POP3 has no folders")
    if not (folder + user + password).isprintable():
        raise _wrong("it contains a control character")
    return MailAccount(parts.scheme, parts.hostname, port, user, password, folder or "INBOX")


def _wrong(why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"BOUNCE_URL is wrong, {why}: expected {_BOUNCE_URL_FORMS}.")
