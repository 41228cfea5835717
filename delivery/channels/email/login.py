"""Tries an account: connects, encrypts and logs in as sending does, and says what the server said."""

import base64
import smtplib
import ssl
from contextlib import suppress

from common.text import one_line
from delivery.channels.email.transport import IMPLICIT, STARTTLS, SmtpSettings

PATIENCE = 10.0
LONGEST = 300


class CannotLogIn(ValueError):
    """The account would not do. The message says why, in the server's words, never the password."""


def log_in(target: object, *, context: ssl.SSLContext | None = None) -> str:
    """What a server answered to the login, in a sentence. Network. Raises CannotLogIn."""
    if not isinstance(target, SmtpSettings):
        raise CannotLogIn("Only SMTP servers can be tried like this. Send a test mail instead.")
    try:
        return _talk(target, context or ssl.create_default_context())
    except smtplib.SMTPResponseException as error:
        words = _words(error.smtp_code, error.smtp_error)
        raise CannotLogIn(f"{target.name} refused: {words}") from None
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        raise CannotLogIn(f"{target.name} cannot be used: {one_line(str(error))[:LONGEST]}") from None


def _talk(target: SmtpSettings, context: ssl.SSLContext) -> str:
    server = _connect(target, context)
    try:
        server.ehlo_or_helo_if_needed()
        if target.security == STARTTLS:
            server.starttls(context=context)
            server.ehlo()
        if not target.user:
            return f"{target.name} answers; it was not asked for a login, because the URL has no user."
        code, text = _authenticate(server, target)
        if code != 235:
            raise smtplib.SMTPAuthenticationError(code, text)
        return f"{target.name} took the login: {_words(code, text)}"
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()


def _connect(target: SmtpSettings, context: ssl.SSLContext) -> smtplib.SMTP:
    if target.security == IMPLICIT:
        return smtplib.SMTP_SSL(target.host, target.port, timeout=PATIENCE, context=context)
    return smtplib.SMTP(target.host, target.port, timeout=PATIENCE)


def _authenticate(server: smtplib.SMTP, target: SmtpSettings) -> tuple[int, bytes]:
    """AUTH PLAIN or LOGIN, in UTF-8 (RFC 4616): smtplib's own login knows ASCII only."""
    offered = server.esmtp_features.get("auth", "").upper().split()
    user, password = target.user.encode(), target.password.encode()
    if "PLAIN" in offered:
        return server.docmd("AUTH", "PLAIN " + _base64(b"\0" + user + b"\0" + password))
    if "LOGIN" not in offered:
        raise smtplib.SMTPNotSupportedError(
            "it offers no login we know (PLAIN, LOGIN) on this kind of connection"
        )
    code, text = server.docmd("AUTH", "LOGIN " + _base64(user))
    return server.docmd(_base64(password)) if code == 334 else (code, text)


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")


def _words(code: int, text: bytes | str) -> str:
    said = text if isinstance(text, str) else text.decode("utf-8", "replace")
    return one_line(f"{code} {said}")[:LONGEST]
