from dataclasses import dataclass
from urllib.parse import quote, unquote, urlencode, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from channels.email.esp.settings import ANYMAIL_PREFIX, EspSettings, parse_esp_url
from channels.email.smtp_login import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from channels.rules.accounts import DEFAULT_ACCOUNT
from common.program import MANAGE

EXPECTED_ACCOUNT_URLS = (
    "smtp://user:password@host:25, smtps://user:password@host:465, "
    "smtp+starttls://user:password@host:587 (without user:password@ if the server needs no "
    "sign-in), anymail+mailgun://KEY@domain (or another email service), or mailbox: to keep "
    "emails here"
)
# Replaces an undecryptable URL.
UNREADABLE = "unreadable:"
_SECURITY = {"smtp": PLAIN, "smtp+starttls": STARTTLS, "smtps": IMPLICIT}
_PORTS = {PLAIN: 25, STARTTLS: 587, IMPLICIT: 465}


@dataclass(frozen=True, slots=True)
class Mailbox:
    """No server: letters are kept for the mailbox page."""


def transport_of(account: str = DEFAULT_ACCOUNT, url: str = "") -> SmtpSettings | EspSettings | Mailbox:
    """Return a lane account's transport; the default account without `url` uses EMAIL_URL.

    Raises ImproperlyConfigured. Uses no database, because connection threads call it.
    """
    if account == DEFAULT_ACCOUNT and url == UNREADABLE:
        raise ImproperlyConfigured(
            "The password of the default email account can’t be read because SECRET_KEY has changed. "
            "Enter it again under “Email set-up”."
        )
    if account == DEFAULT_ACCOUNT and not (url or settings.EMAIL_URL):
        raise ImproperlyConfigured("Email isn’t set up. Use “Email set-up” in the admin, or set EMAIL_URL.")
    if account == DEFAULT_ACCOUNT:
        name = "The URL of the default email account" if url else "EMAIL_URL"
        return parse_email_url(url or settings.EMAIL_URL, name=name)
    if not url:
        raise ImproperlyConfigured(
            f"The email account {account} doesn’t exist, or its URL can’t be read because SECRET_KEY has "
            f"changed. Save it again with “{MANAGE} add_account {account} --replace”."
        )
    return parse_email_url(url, name=f"The URL of the email account {account}")


def parse_email_url(url: str, *, name: str = "EMAIL_URL") -> SmtpSettings | EspSettings | Mailbox:
    """Raise ImproperlyConfigured without the value, which may hold a password."""
    if not url:
        raise ImproperlyConfigured(f"{name} is empty: expected {EXPECTED_ACCOUNT_URLS}.")
    if url == "mailbox:":
        return Mailbox()
    scheme = url.partition(":")[0].lower()
    if scheme.startswith(ANYMAIL_PREFIX):
        return parse_esp_url(url, name=name)
    if scheme not in _SECURITY:
        raise _wrong(name, "it must start with one of these")
    if any(character.isspace() or not character.isprintable() for character in url):
        raise _wrong(name, "it contains a space or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port  # raises ValueError
    except ValueError:
        # `from None`: the ValueError shows part of the URL.
        raise _wrong(name, "its host or port can’t be read") from None
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise _wrong(
            name,
            "the port is followed by something else; write / as %2F, ? as %3F and # as %23 in a password",
        )
    if not parts.hostname:
        raise _wrong(name, "the host is missing")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password):
        raise _wrong(name, "a user needs a password, and a password needs a user")
    security = _SECURITY[scheme]
    port = _PORTS[security] if port is None else port
    if not port:
        raise _wrong(name, "the port is 0")
    return SmtpSettings(parts.hostname, port, user, password, security)


def _wrong(name: str, why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name} is wrong, {why}: expected {EXPECTED_ACCOUNT_URLS}.")


def url_to(target: SmtpSettings | EspSettings) -> str:
    if isinstance(target, EspSettings):
        secret = f":{quote(target.secret, safe='')}" if target.secret else ""
        options = urlencode({name: value for name, value in target.options.items() if value})
        question = f"?{options}" if options else ""
        key = quote(target.key, safe="")
        return f"{ANYMAIL_PREFIX}{target.esp}://{key}{secret}@{target.domain}{question}"
    scheme = next(name for name, security in _SECURITY.items() if security == target.security)
    login = f"{quote(target.user, safe='')}:{quote(target.password, safe='')}@" if target.user else ""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{scheme}://{login}{host}:{target.port}"
