"""A look at the mail server: does it answer, and how it encrypts."""

import smtplib
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from common.text import one_line
from common.transactions import forbid_open_transaction
from delivery.channels.email.smtp_settings import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from delivery.doctor.findings import Finding, Verdict

SERVER, TLS = "Mail server", "TLS"
SECONDS = 10.0
# Time to renew by hand.
SOON = timedelta(days=14)
OLD = ("TLSv1", "TLSv1.1", "SSLv3", "SSLv2")
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Tls:
    """An encrypted connection with a certificate that was trusted."""

    version: str
    cipher: str
    names: tuple[str, ...]
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class Server:
    """What the server showed: `name` is what it calls itself.

    `trouble` says why it did not answer, `tls_trouble` why it was not encrypted.
    """

    name: str = ""
    offers_starttls: bool = False
    tls: Tls | None = None
    trouble: str = ""
    tls_trouble: str = ""


def look_at(target: SmtpSettings, *, context: ssl.SSLContext | None = None) -> Server:
    """Connects, greets and encrypts as sending does; logs in nowhere. Network. Raises nothing."""
    forbid_open_transaction()
    context = context or ssl.create_default_context()
    try:
        with _connected(target, context) as smtp:
            return _talk(smtp, target, context)
    except ssl.SSLError as error:
        return Server(tls_trouble=_words(getattr(error, "verify_message", "") or error.reason or error))
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        return Server(trouble=_words(error))


def judge_server(target: SmtpSettings, server: Server, *, is_here: bool, now: datetime) -> list[Finding]:
    """What is to be said of it. `is_here`: on this machine or in a private network."""
    about, looked = target.name, f"SMTP {target.name} ({target.security})"

    def said(topic: str, verdict: Verdict, says: str, change: str = "", found: str = "") -> Finding:
        return Finding(topic, about, looked, verdict, says, (found,) if found else (), change)

    if server.trouble:
        text = f"It cannot be used: {server.trouble}"
        return [said(SERVER, Verdict.WRONG, text, "Check host and port in EMAIL_URL, and that it runs.")]
    answers = said(SERVER, Verdict.GOOD, "It answers.", found=server.name)
    if server.tls_trouble:
        text = f"No trusted encryption: {server.tls_trouble}."
        change = (
            "Name the server in EMAIL_URL as its certificate does, or give it a certificate that is valid."
        )
        return [said(TLS, Verdict.WRONG, text, change)]
    if server.tls is not None:
        return [answers, *(said(TLS, *judged) for judged in _judge_tls(server.tls, now))]
    return [answers, said(TLS, *_judge_open(target, server, is_here))]


def _judge_tls(tls: Tls, now: datetime) -> list[tuple[Verdict, str, str, str]]:
    found = f"{tls.version}, {tls.cipher}; certificate of {', '.join(tls.names)}"
    if tls.ends is not None and tls.ends - now < SOON:
        text = f"Its certificate ends on {tls.ends:%Y-%m-%d}: then no letter goes out."
        return [(Verdict.BETTER, text, "Have it renewed.", found)]
    if tls.version in OLD:
        text = f"It speaks {tls.version}, which is out of date."
        return [(Verdict.BETTER, text, "Let the server speak TLS 1.2 or 1.3.", found)]
    ends = f", valid until {tls.ends:%Y-%m-%d}" if tls.ends else ""
    return [(Verdict.GOOD, f"{tls.version}, with a certificate that is trusted{ends}.", "", found)]


def _judge_open(target: SmtpSettings, server: Server, is_here: bool) -> tuple[Verdict, str, str]:
    change = "Use smtp+starttls:// in EMAIL_URL."
    if is_here:
        return (
            Verdict.GOOD,
            "Not encrypted, and it need not be: the server is on this machine or network.",
            "",
        )
    if target.user:
        text = "User and password go to it unencrypted, for everybody on the way to read."
        return Verdict.WRONG, text, change if server.offers_starttls else "Use smtps:// in EMAIL_URL."
    if server.offers_starttls:
        return Verdict.BETTER, "Letters go to it unencrypted, although it offers STARTTLS.", change
    return Verdict.BETTER, "Letters go to it unencrypted, and it offers nothing else.", "Use another port."


def _connected(target: SmtpSettings, context: ssl.SSLContext) -> smtplib.SMTP:
    if target.security == IMPLICIT:
        return smtplib.SMTP_SSL(target.host, target.port, timeout=SECONDS, context=context)
    return smtplib.SMTP(target.host, target.port, timeout=SECONDS)


def _talk(smtp: smtplib.SMTP, target: SmtpSettings, context: ssl.SSLContext) -> Server:
    smtp.ehlo_or_helo_if_needed()
    name = _words((smtp.ehlo_resp or smtp.helo_resp or b"").decode("utf-8", "replace").partition("\n")[0])
    offers = smtp.has_extn("starttls")
    if target.security == PLAIN:
        return Server(name, offers)
    if target.security == STARTTLS:
        if not offers:
            return Server(name, tls_trouble="it does not offer STARTTLS")
        smtp.starttls(context=context)
    return Server(name, offers, _tls(smtp.sock))


def _tls(sock: Any) -> Tls:
    certificate = sock.getpeercert() or {}
    names = tuple(
        value for kind, value in certificate.get("subjectAltName", ()) if kind in ("DNS", "IP Address")
    )
    ends = certificate.get("notAfter")
    moment = datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if ends else None
    return Tls(sock.version() or "", (sock.cipher() or ("",))[0], names, moment)


def _words(said: object) -> str:
    return one_line(str(said))[:LONGEST].rstrip(".") or type(said).__name__
