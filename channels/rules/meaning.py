"""Corrections of bridges' posts.

Problems of a mail account that was tried, and what to do.

Pauses a service that refuses too many requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from common.program import MANAGE

# Refusals by minute.
Recent = Sequence[tuple[datetime, int]]
EDIT_CORRECTED, DELETE_WITHDRAWN = "edit_corrected", "delete_withdrawn"
# Time after posting.
WINDOW = timedelta(hours=24)
_ABOUT_SENDER = (
    "{host} doesn’t let this account send from {sender}. Use a sender that belongs to the account."
)


class Concern(StrEnum):
    """Whom a refusal concerns, which alone decides the consequences."""

    ADDRESS = "address"  # never deliverable
    MAILBOX = "mailbox"  # not deliverable now
    US = "us"  # our server, sender or behaviour: all readers there would be refused
    LETTER = "letter"  # this letter: all its readers there would be refused
    NOBODY = "nobody"  # a host that is away or busy, or unclear words


class Meaning(StrEnum):
    NO_ADDRESS = "the address doesn’t exist"
    NO_HOST = "the mail server doesn’t exist"
    CLOSED = "the mailbox is closed"
    FULL = "the mailbox is full"
    SENDER = "the sender is refused"
    IDENTITY = "the sender failed authentication"
    BLOCKED = "our server is on a block list or has a bad reputation"
    RELAY = "the server doesn’t relay for us"
    LOGIN = "the server requires a sign-in"
    RATE = "too many emails were sent at once"
    POLICY = "the server refuses email from us"
    SIZE = "the email is too large"
    CONTENT = "the server refuses the email’s content"
    AWAY = "the server is unreachable or busy"
    UNCLEAR = "no reason was given"

    @property
    def concern(self) -> Concern:
        return _CONCERNS[self]


_CONCERNS = {
    **dict.fromkeys((Meaning.NO_ADDRESS, Meaning.NO_HOST, Meaning.CLOSED), Concern.ADDRESS),
    Meaning.FULL: Concern.MAILBOX,
    **dict.fromkeys((Meaning.SENDER, Meaning.IDENTITY, Meaning.BLOCKED, Meaning.RELAY), Concern.US),
    **dict.fromkeys((Meaning.LOGIN, Meaning.RATE, Meaning.POLICY), Concern.US),
    **dict.fromkeys((Meaning.SIZE, Meaning.CONTENT), Concern.LETTER),
    **dict.fromkeys((Meaning.AWAY, Meaning.UNCLEAR), Concern.NOBODY),
}
HOLDUP_ADVICE = {
    Meaning.SENDER: "Allow the account (“Email set-up”, or EMAIL_URL) to send from that address, or change "
    "the newsletter’s sender.",
    Meaning.IDENTITY: f"Check SPF, DKIM, DMARC and reverse DNS ({MANAGE} check_mail).",
    Meaning.BLOCKED: "Look up the mail server’s address on the block list that it names, and ask to be "
    "removed.",
    Meaning.RELAY: "Check the server and sign-in (“Email set-up”, or EMAIL_URL). The server doesn’t relay "
    "for us.",
    Meaning.LOGIN: "Check the user and password (“Email set-up”, or EMAIL_URL).",
    Meaning.RATE: f"Lower the sending limit ({MANAGE} alter_lane, --per-hour or --rate).",
    Meaning.SIZE: "Raise the mail server’s limit (in Postfix, message_size_limit), or send fewer posts per "
    "issue.",
}


def advice(meaning: Meaning) -> str:
    return HOLDUP_ADVICE.get(meaning, "")


def wishes(options: Mapping[str, str], arrangement: str) -> frozenset[str]:
    """Digests are never changed."""
    if arrangement != "each":
        return frozenset()
    return frozenset(name for name in (EDIT_CORRECTED, DELETE_WITHDRAWN) if options.get(name))


def change_key(post: int, number: int) -> str:
    """A deletion has number 1."""
    return f"{post}-{number}"


def changed_post(key: str) -> tuple[int, int]:
    """Return zeros for other keys."""
    post, _, number = key.partition("-")
    return (int(post), int(number)) if post.isdecimal() and number.isdecimal() else (0, 0)


class Cause(StrEnum):
    """Why there is no usable connection."""

    NO_HOST = "no host"  # not in the DNS
    CLOSED = "closed"  # nothing listens, or unreachable
    SILENT = "silent"  # no answer in time
    CERTIFICATE = "certificate"  # untrusted, or for another name
    NO_TLS = "no tls"  # does not start with TLS
    NO_STARTTLS = "no starttls"
    NO_LOGIN = "no login"  # no known method
    LOGIN = "login"  # wrong user or password
    NOT_READY = "not ready"  # answers, but refuses us


_CAUSES = {
    Cause.NO_HOST: "There is no server called {host}. Copy the host from your provider’s help.",
    Cause.CLOSED: "{host} doesn’t respond on port {port}. Check both. If they’re right, a firewall may be "
    "blocking email. Ask your hosting provider.",
    Cause.SILENT: "{host} didn’t respond in time on port {port}. Either the port needs a different "
    "security setting (465 is TLS, 587 is STARTTLS), or a firewall is blocking email.",
    Cause.CERTIFICATE: "The certificate of {host} can’t be verified. Use the host name from your provider’s "
    "help.",
    Cause.NO_TLS: "{host} doesn’t use TLS on port {port}. Choose STARTTLS, which is usual on 587, or use "
    "port 465.",
    Cause.NO_STARTTLS: "{host} doesn’t offer STARTTLS on port {port}. Choose TLS, which is usual on "
    "port 465.",
    Cause.NO_LOGIN: "{host} doesn’t accept a user and password on this connection. Choose STARTTLS or TLS, "
    "or leave both empty if no sign-in is needed.",
    Cause.LOGIN: "{host} refused the user and password. Enter both again.",
    Cause.NOT_READY: "{host} responded on port {port} but doesn’t accept email from us now. "
    "Read its message, and try again later.",
}


def trouble_of_cause(cause: Cause, host: str, port: int, said: str, *, proof: str = "") -> str:
    """`said`: words of the server or network; `proof`: its provider's advice about passwords, if known."""
    asked = f" It must be: {proof}" if cause is Cause.LOGIN and proof else ""
    text = _CAUSES[cause].format(host=host, port=port)
    return _quoting(f"{text}{asked}", said)


def trouble_of_refusal(meaning: Meaning | None, host: str, sender: str, said: str) -> str:
    if meaning is Meaning.SENDER:
        text = _ABOUT_SENDER.format(host=host, sender=sender)
    else:
        text = f"{host} accepted the sign-in but refused the test email."
        if meaning is not None and (todo := advice(meaning)):
            text = f"{text} {todo}"
    return _quoting(text, said)


def _quoting(text: str, said: str) -> str:
    return f"{text} Its words: {said.rstrip('.')}." if said else text


@dataclass(frozen=True, slots=True)
class Breaker:
    """Pause after `refusals` refused requests `within` a time, for that time, then send slowly.

    Channels with the same `service` share it. `name` is for people; `why` says what more refusals would
    cause. `statuses`: answers that count.
    """

    service: str
    name: str
    refusals: int
    within: timedelta
    why: str
    statuses: frozenset[int] = frozenset({401, 403, 429})

    @property
    def pace(self) -> timedelta:
        """Return the gap between messages while sending slowly: half the rate that opens it."""
        return 2 * self.within / self.refusals


def with_refusals(
    recent: Recent, number: int, now: datetime, *, within: timedelta
) -> list[tuple[datetime, int]]:
    this = now.replace(second=0, microsecond=0)
    kept = dict(row for row in recent if row[0] > now - within)
    kept[this] = kept.get(this, 0) + number
    return sorted(kept.items())


def is_too_much(recent: Recent, breaker: Breaker) -> bool:
    return sum(number for _, number in recent) >= breaker.refusals
