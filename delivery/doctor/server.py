"""Mail server checks: does it answer, and encrypt."""

import smtplib
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from channels.email.smtp_login import IMPLICIT, PLAIN, STARTTLS, SmtpSettings
from common.text import one_line
from common.transactions import forbid_open_transaction
from delivery.doctor.findings import DoctorVerdict, Finding

SERVER, TLS = "Mail server", "TLS"
SERVER_SECONDS = 10.0
# A certificate that expires sooner has to be renewed by hand.
EXPIRES_SOON = timedelta(days=14)
OLD = ("TLSv1", "TLSv1.1", "SSLv3", "SSLv2")
LONGEST_SERVER_WORDS = 300


@dataclass(frozen=True, slots=True)
class Tls:
    """Encrypted connection with a trusted certificate."""

    version: str
    cipher: str
    names: tuple[str, ...]
    ends: datetime | None


@dataclass(frozen=True, slots=True)
class Server:
    """Observed server; `name` is how it calls itself.

    `trouble`: why there was no answer, `tls_trouble`: why no encryption.
    """

    name: str = ""
    offers_starttls: bool = False
    tls: Tls | None = None
    trouble: str = ""
    tls_trouble: str = ""


def look_at(target: SmtpSettings, *, context: ssl.SSLContext | None = None) -> Server:
    """Connect, greet and encrypt as for sending; no login. Network. Raises nothing."""
    forbid_open_transaction()
    context = context or ssl.create_default_context()
    try:
        smtp = (
            smtplib.SMTP_SSL(target.host, target.port, timeout=SERVER_SECONDS, context=context)
            if target.security == IMPLICIT
            else smtplib.SMTP(target.host, target.port, timeout=SERVER_SECONDS)
        )
        with smtp:
            smtp.ehlo_or_helo_if_needed()
            greeting = (smtp.ehlo_resp or smtp.helo_resp or b"").decode("utf-8", "replace")
            name = _words(greeting.partition("\n")[0])
            offers = smtp.has_extn("starttls")
            if target.security == PLAIN:
                return Server(name, offers)
            if target.security == STARTTLS and not offers:
                return Server(name, tls_trouble="it doesn’t offer STARTTLS")
            if target.security == STARTTLS:
                smtp.starttls(context=context)
            sock: Any = smtp.sock
            certificate = sock.getpeercert() or {}
            alternatives = certificate.get("subjectAltName", ())
            names = tuple(value for kind, value in alternatives if kind in ("DNS", "IP Address"))
            ends = certificate.get("notAfter")
            moment = datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if ends else None
            tls = Tls(sock.version() or "", (sock.cipher() or ("",))[0], names, moment)
            return Server(name, offers, tls)
    except ssl.SSLError as error:
        return Server(tls_trouble=_words(getattr(error, "verify_message", "") or error.reason or error))
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        return Server(trouble=_words(error))


def judge_server(target: SmtpSettings, server: Server, *, is_here: bool, now: datetime) -> list[Finding]:
    """Judge `look_at`. `is_here`: on this machine or in a private network."""
    about, looked = target.name, f"SMTP {target.name} ({target.security})"

    def said(topic: str, verdict: DoctorVerdict, says: str, change: str = "", found: str = "") -> Finding:
        return Finding(topic, about, looked, verdict, says, (found,) if found else (), change)

    if server.trouble:
        text = f"It can’t be used: {server.trouble}"
        return [
            said(
                SERVER,
                DoctorVerdict.WRONG,
                text,
                "Check the host and port (“Email set-up”, or EMAIL_URL), and that the server is running.",
            )
        ]
    answers = said(SERVER, DoctorVerdict.GOOD, "It answers.", found=server.name)
    if server.tls_trouble:
        text = f"No trusted encryption: {server.tls_trouble}."
        change = (
            "Use the server name from its certificate (“Email set-up”, or EMAIL_URL), "
            "or install a valid certificate."
        )
        return [said(TLS, DoctorVerdict.WRONG, text, change)]
    if server.tls is not None:
        tls = server.tls
        found = f"{tls.version}, {tls.cipher}; certificate of {', '.join(tls.names)}"
        if tls.ends is not None and tls.ends - now < EXPIRES_SOON:
            text = f"Its certificate expires on {tls.ends:%Y-%m-%d}. After that no email can be sent."
            return [answers, said(TLS, DoctorVerdict.BETTER, text, "Renew it.", found)]
        if tls.version in OLD:
            text = f"It uses {tls.version}, which is out of date."
            change = "Let the server use TLS 1.2 or 1.3."
            return [answers, said(TLS, DoctorVerdict.BETTER, text, change, found)]
        ends = f", valid until {tls.ends:%Y-%m-%d}" if tls.ends else ""
        text = f"{tls.version}, with a certificate that is trusted{ends}."
        return [answers, said(TLS, DoctorVerdict.GOOD, text, "", found)]
    return [answers, said(TLS, *_judge_open(target, server, is_here))]


def _judge_open(target: SmtpSettings, server: Server, is_here: bool) -> tuple[DoctorVerdict, str, str]:
    change = "Choose STARTTLS for it (Email set-up; in EMAIL_URL smtp+starttls://)."
    if is_here:
        return (
            DoctorVerdict.GOOD,
            "Not encrypted, which is fine because the server is on this machine or network.",
            "",
        )
    if target.user:
        text = "User and password are sent unencrypted, so others on the network can read them."
        return (
            DoctorVerdict.WRONG,
            text,
            change if server.offers_starttls else "Choose TLS (“Email set-up”, or smtps:// in EMAIL_URL).",
        )
    if server.offers_starttls:
        text = "Emails are sent unencrypted, although the server offers STARTTLS."
        return DoctorVerdict.BETTER, text, change
    return (
        DoctorVerdict.BETTER,
        "Emails are sent unencrypted, because the server offers no encryption.",
        "Use another port.",
    )


def _words(said: object) -> str:
    return one_line(str(said))[:LONGEST_SERVER_WORDS].rstrip(".") or type(said).__name__
