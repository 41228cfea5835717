"""Outcomes of SMTP replies and lost connections. Pure."""

import os
import re
import socket
import ssl
from enum import StrEnum
from typing import NamedTuple

from channels.base import Ambiguous, Holdup, Outcome, Permanent, Sent, Temporary
from channels.rules.meaning import Meaning
from channels.rules.server_words import meaning
from channels.rules.trials import Cause

MAX_REPLY_WORDS = 500
NO_SMTP = -1
# The second is rspamd's wording.
_GREYLISTED = re.compile(
    r"gr[ea]y-?\s?list|\A451 4\.7\.1 (?:please )?try again later\.?\Z|please retry in \d", re.IGNORECASE
)
# Without one of its codes.
_TOO_FAST = re.compile(
    r"throttl|\brate.{0,20}(?:limit|exceed)|too many (?:\w+ )?(?:messages|mails)", re.IGNORECASE
)
_CROWDED = re.compile(
    r"too many (?:[\w-]+ ){0,2}(?:connections|sessions|threads)"
    r"|\b(?:connection|session|thread)s?\b.{0,20}\blimit"
    r"|(?:maximum .{0,30}|concurrent (?:smtp )?)(?:connections|sessions)",
    re.IGNORECASE,
)
# RFC 3463 §3.5: “mail system congestion” is temporary. With 550, it is a daily quota of ours.
_CONGESTED = "5.4.5"
# Relays another server's reply.
_QUOTES = re.compile(r"\bhost \S+ (?:said|refused)|\bremote (?:server|host) (?:said|returned)", re.IGNORECASE)
# For every letter of the account.
_OF_ACCOUNT = {
    Meaning.LOGIN: "The mail server requires a different sign-in (“Email set-up”, or EMAIL_URL)",
    Meaning.RELAY: "The mail server doesn’t relay for this account. Check the account (“Email set-up”, or "
    "EMAIL_URL)",
}
# For every letter to the domain; before RCPT, for every letter.
_OF_DOMAIN = frozenset({Meaning.IDENTITY, Meaning.BLOCKED, Meaning.RELAY, Meaning.RATE, Meaning.SENDER})


class Reply(NamedTuple):
    """Code NO_SMTP: invalid."""

    code: int
    text: bytes


class Stage(StrEnum):
    MAIL = "MAIL FROM"
    RCPT = "RCPT TO"
    DATA = "DATA"
    MESSAGE = "the end of the message"


def reply_words(code: int, text: bytes | str) -> str:
    if isinstance(text, bytes):
        text = text[: 4 * MAX_REPLY_WORDS].decode("utf-8", "replace")
    line = text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
    line = " ".join(f"{code if code > 0 else ''} {line}".split())
    return line if len(line) <= MAX_REPLY_WORDS else line[: MAX_REPLY_WORDS - 1] + "…"


def outcome_of_reply(stage: Stage, code: int, text: bytes) -> Outcome | None:
    """Return None to continue. Only the end of the message can be Sent or Ambiguous."""
    said = reply_words(code, text)
    if stage is Stage.MESSAGE and 200 <= code < 300:
        return Sent(remote_id=said[:255])
    # The enhanced code (RFC 2034), such as 5.1.1.
    match = re.match(rb"([245]\.\d{1,3}\.\d{1,3})(?![\d.])", text.lstrip())
    status = match[1].decode("ascii") if match else ""
    if 400 <= code < 500:
        crowded = bool(_CROWDED.search(said))
        slows = crowded or _is_about_us(code, status, said)
        return Temporary(said, stops_lane=slows, suspect=slows, crowded=crowded, status=status)
    if 500 <= code < 600:
        return _refused(stage, code, status, said)
    if stage is Stage.MESSAGE:
        return Ambiguous(_strange(stage, said))
    expected = code == 354 if stage is Stage.DATA else 200 <= code < 300
    return None if expected else Temporary(_strange(stage, said))


def _is_about_us(code: int, status: str, said: str) -> bool:
    """Return whether the lane's next message would get the same reply."""
    if code in (421, 454):
        return True
    if _GREYLISTED.search(said):
        return False
    # 4.2.x concerns one mailbox, which may get too much mail from everybody.
    return status.startswith("4.7.") or (not status.startswith("4.2.") and bool(_TOO_FAST.search(said)))


def _refused(stage: Stage, code: int, status: str, said: str) -> Outcome:
    meant = meaning(said, code=code, status=status)
    # RFC 5321 §4.2.3: “exceeded storage allocation” concerns the mailbox, unless the text says more.
    if meant is Meaning.SIZE and stage is Stage.RCPT and meaning(said, status=status) is not Meaning.SIZE:
        meant = Meaning.FULL
    quotes = _QUOTES.search(said) is not None
    # 503: the dialogue is out of step.
    if code == 503:
        return Temporary(said, status=status)
    if (meant in _OF_ACCOUNT and not quotes) or status == _CONGESTED:
        text = f"{_OF_ACCOUNT[meant]}: {said}" if meant in _OF_ACCOUNT else said
        return _of_lane(text, status, meant)
    if meant is Meaning.SIZE:
        return _held_up(Holdup.LETTER, said, status, meant)
    # At MAIL the recipient is not named yet, so it is not about the reader. Some servers send it only at RCPT
    # (Postfix: smtpd_delay_reject).
    if stage is Stage.MAIL and meant in (Meaning.BLOCKED, Meaning.RATE):
        return _of_lane(said, status, meant)
    if stage is Stage.MAIL or (meant is Meaning.SENDER and not quotes):
        return _held_up(Holdup.SENDER, said, status, meant)
    if meant in _OF_DOMAIN:
        return _held_up(Holdup.DOMAIN, said, status, meant)
    return Permanent(said, status=status, meaning=meant)


def _of_lane(text: str, status: str, meant: Meaning) -> Temporary:
    return Temporary(text, stops_lane=True, suspect=True, status=status, meaning=meant)


def _held_up(holdup: Holdup, said: str, status: str, meant: Meaning) -> Temporary:
    return Temporary(f"{holdup}: {said}", status=status, holdup=holdup, meaning=meant)


def _strange(stage: Stage, said: str) -> str:
    return reply_words(0, f"The mail server answered {stage} with a response that isn’t SMTP: {said}")


class CannotConnect(Exception):
    """Network, TLS, greeting or login failed. The message is one sentence.

    `words` come from the server or the network.
    """

    def __init__(self, text: str, cause: Cause, words: str = "") -> None:
        super().__init__(text)
        self.cause, self.words = cause, words


def cause_of(error: BaseException) -> Cause:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Cause.CERTIFICATE
    if isinstance(error, ssl.SSLError):
        return Cause.NO_TLS
    if isinstance(error, TimeoutError) or (isinstance(error, Lost) and "in time" in str(error)):
        return Cause.SILENT
    if isinstance(error, socket.gaierror | UnicodeError):
        return Cause.NO_HOST
    return Cause.NOT_READY if isinstance(error, Lost) else Cause.CLOSED


class Lost(Exception):
    """Ended or timed out. `sent_all`: nothing was left to send."""

    def __init__(self, text: str, *, sent_all: bool) -> None:
        super().__init__(text)
        self.sent_all = sent_all


def reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it didn’t answer in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate was refused ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    # asyncio's message repeats the address.
    number = getattr(error, "errno", None)
    said = os.strerror(number) if number and number > 0 else getattr(error, "strerror", None)
    return reply_words(0, said or str(error) or type(error).__name__)
