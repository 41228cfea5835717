"""Read returned mail and unsubscribe requests from a Maildir, by IMAP4 (RFC 3501) or POP3 (RFC 1939).

A mail is marked as read, in POP3 deleted, after it was processed. If the process dies before, it is read
again, and `take_mail` recognizes it.

Requests go to leave@BOUNCE_DOMAIN (RFC 2369 §3.2). List-Unsubscribe's subject, or the address after a plus,
is a link token, which proves the request even if the mail is marked as automatic, as by Apple Mail.
"""

import imaplib
import logging
import poplib
import re
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email import message_from_bytes
from email.message import Message
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from common.clock import utcnow
from common.mail.parts import Unreadable, decoded_field
from common.mail.replies import is_unanswerable
from common.passes import TimeBudget
from common.ports.registries import mail_takers
from common.refused import Refused
from common.shutdown import stopping
from common.signing import LINK_TOKEN, TokenError
from common.transactions import forbid_open_transaction
from delivery.bounces.account import MailAccount, parse_bounce_url
from delivery.bounces.parsing import MAX_MAIL_BYTES, read_report
from delivery.bounces.record import Taken, prune_bounces, take_report
from delivery.rules.bounce_policy import BounceKind
from subscriptions.links import UNSUBSCRIBE, find
from subscriptions.models import Subscription
from subscriptions.subscribers.leave import leave

TIMEOUT = 30.0
MOST_MAILS = 500
# Of an email that others than `take_report` read, and one octet that tells it is larger.
MAX_WHOLE_BYTES = 25_000_001
_LONGEST_LINE = 65_536
LEAVING, READING = "leaving", "reading"

log = logging.getLogger(__name__)
ADDRESS = "leave"
HEAD_BYTES = 64_000
MOST_ADDRESSES = 50
# Fields that name recipients.
_FOR = ("to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "resent-to")
_TOKEN = re.compile(rf"(?<![0-9A-Za-z-])({LINK_TOKEN.pattern})(?![0-9A-Za-z-])", re.IGNORECASE | re.ASCII)


def most_bytes() -> int:
    return MAX_WHOLE_BYTES if mail_takers else MAX_MAIL_BYTES


class SourceError(Refused):
    """Unreadable mailbox. The message has no password."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Start of a mail, and its name."""

    raw: bytes = field(repr=False)
    key: str


@contextmanager
def open_mailbox(
    where: MailAccount | Path, *, context: ssl.SSLContext | None = None
) -> "Iterator[Maildir | Imap | Pop3]":
    """Open the mailbox. Raises SourceError for any problem.

    Its `mails` are up to MOST_MAILS unread ones, oldest first; `done` marks one as read. Both raise, too.
    """
    if isinstance(where, Path):
        yield Maildir(where)
        return
    forbid_open_transaction()
    context = context or ssl.create_default_context()
    with _in_words(where):
        source = (Imap if where.scheme.startswith("imap") else Pop3)(where, context)
    try:
        with _in_words(where):
            source.log_in()
        yield source
    except BaseException:
        with suppress(Exception):
            source.abandon()
        raise
    with _in_words(where):
        source.close()


@contextmanager
def _in_words(account: MailAccount) -> Iterator[None]:
    try:
        yield
    except SourceError:
        raise
    except (OSError, EOFError, ValueError, imaplib.IMAP4.error, poplib.error_proto) as error:
        if isinstance(error, TimeoutError):
            reason = "it did not answer in time"
        elif isinstance(error, ssl.SSLCertVerificationError):
            reason = f"its certificate was refused ({error.verify_message})"
        else:
            said = error.args[0] if error.args and isinstance(error.args[0], bytes) else str(error).encode()
            text = "".join(c if c.isprintable() else " " for c in said[:300].decode("utf-8", "replace"))
            reason = text.replace(account.password, "…").strip().rstrip(".") or type(error).__name__
        raise SourceError(f"{account.name} cannot be read: {reason}.") from error


class Maildir:
    """Move mails from new/ to cur/, as seen: other programs still find them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def mails(self) -> Iterator[Incoming]:
        try:
            names = sorted(entry.name for entry in (self.path / "new").iterdir())[:MOST_MAILS]
        except OSError as error:
            raise SourceError(f"The Maildir {self.path} cannot be read: {error.strerror}.") from error
        for name in names:
            file = self.path / "new" / name
            if file.is_file() and not file.is_symlink():
                try:
                    with file.open("rb") as opened_file:
                        raw = opened_file.read(most_bytes())
                except FileNotFoundError:
                    raw = b""  # another reader was faster
                except OSError as error:
                    raise SourceError(f"{file} cannot be read: {error.strerror}.") from error
                yield Incoming(raw, name)

    def done(self, mail: Incoming) -> None:
        target = self.path / "cur" / f"{mail.key.partition(':')[0]}:2,S"
        try:
            target.parent.mkdir(exist_ok=True)
            (self.path / "new" / mail.key).rename(target)
        except FileNotFoundError:
            return  # another reader was faster
        except OSError as error:
            raise SourceError(f"{self.path} cannot be written to: {error.strerror}.") from error


class Imap:
    """Unseen mails of a folder, which become seen."""

    def __init__(self, account: MailAccount, context: ssl.SSLContext) -> None:
        self.account = account
        host, port = account.host, account.port
        self.client = (
            imaplib.IMAP4_SSL(host, port, ssl_context=context, timeout=TIMEOUT)
            if account.scheme == "imaps"
            else imaplib.IMAP4(host, port, timeout=TIMEOUT)
        )

    def log_in(self) -> None:
        account = self.account
        # imaplib quotes only the password.
        self.client.login(_quoted(account.user), account.password)
        self._ok(self.client.select(_quoted(account.folder)), f"the folder {account.folder}")

    def mails(self) -> Iterator[Incoming]:
        with _in_words(self.account):
            found = self._ok(self.client.uid("SEARCH", "UNSEEN"), "its search")
        uids = (found[0] or b"").split() if found else []
        for uid in (octets.decode("ascii", "replace") for octets in uids[:MOST_MAILS]):
            with _in_words(self.account):
                answer = self.client.uid("FETCH", uid, f"(BODY.PEEK[]<0.{most_bytes()}>)")
                parts = self._ok(answer, "a mail")
            raw = next((part[1] for part in parts if isinstance(part, tuple)), None)
            if raw is not None:  # else deleted meanwhile
                yield Incoming(raw, uid)

    def done(self, mail: Incoming) -> None:
        with _in_words(self.account):
            self._ok(self.client.uid("STORE", mail.key, "+FLAGS.SILENT", r"(\Seen)"), "the mark")

    def close(self) -> None:
        self.client.logout()

    def abandon(self) -> None:
        self.client.shutdown()

    def _ok(self, answer: tuple[str, list[Any]], what: str) -> list[Any]:
        status, data = answer
        if status != "OK":
            said = data[0].decode("utf-8", "replace") if data and isinstance(data[0], bytes) else status
            raise imaplib.IMAP4.error(f"{what} was refused: {said}")
        return data


def _quoted(folder: str) -> str:
    escaped = folder.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class LongLinePop3:
    """Cuts lines: poplib fails at more than 2,048 octets."""

    file: Any

    def _getline(self) -> tuple[bytes, int]:
        line = b""
        while piece := self.file.readline(_LONGEST_LINE):
            line = line or piece
            if piece.endswith(b"\n"):
                return line.strip(b"\r\n"), len(line)
        raise poplib.error_proto("the connection was closed")


class _Pop3(LongLinePop3, poplib.POP3):
    pass


class _Pop3s(LongLinePop3, poplib.POP3_SSL):
    pass


class Pop3:
    """All mails. Deletes processed ones (at QUIT, RFC 1939 §6), as POP3 has no marks."""

    def __init__(self, account: MailAccount, context: ssl.SSLContext) -> None:
        self.account = account
        host, port = account.host, account.port
        self.client = (
            _Pop3s(host, port, context=context, timeout=TIMEOUT)
            if account.scheme == "pop3s"
            else _Pop3(host, port, timeout=TIMEOUT)
        )

    def log_in(self) -> None:
        self.client.user(self.account.user)
        self.client.pass_(self.account.password)

    def mails(self) -> Iterator[Incoming]:
        with _in_words(self.account):
            listed = self.client.list()[1]
        for line in listed[:MOST_MAILS]:
            match = re.match(rb"(\d{1,9}) (\d{1,12})", line)
            # Larger mails stay: TOP is optional, RETR has no limit.
            if match and int(match[2]) <= max(4 * MAX_MAIL_BYTES, most_bytes()):
                with _in_words(self.account):
                    lines = self.client.retr(int(match[1]))[1]
                yield Incoming(b"\n".join(lines)[: most_bytes()], match[1].decode("ascii"))

    def done(self, mail: Incoming) -> None:
        with _in_words(self.account):
            self.client.dele(int(mail.key))

    def close(self) -> None:
        self.client.quit()

    def abandon(self) -> None:
        self.client.close()


def recipients_in(raw: bytes, *, domain: str, recipient: str = "") -> list[str]:
    """Return addresses of the domain: the envelope's `recipient`, or all that the header names."""
    if not domain:
        return []
    addressed = re.compile(rf"(?<![^\s<,;:\"])[\w.+-]{{1,64}}@{re.escape(domain)}(?![\w.-])", re.IGNORECASE)
    named = (str(value) for name, value in _head(raw).raw_items() if name.lower() in _FOR)
    texts = [recipient] if recipient else (re.sub(r"\r?\n[ \t]*", " ", text) for text in named)
    found = (match[0] for text in texts for match in addressed.finditer(text))
    return list(dict.fromkeys(islice(found, MOST_ADDRESSES)))


def leaving(raw: bytes, *, domain: str, recipient: str = "") -> str | None:
    """Return the token of a wish to leave, or None for other addresses; `recipient` is the envelope's.

    "" without a token, or if no person sent the mail.
    """
    recipients = recipients_in(raw, domain=domain, recipient=recipient)
    parts = [address.partition("@")[0].partition("+") for address in recipients]
    found = [token for name, _, token in parts if name.lower() == ADDRESS]
    if not found:
        return None
    named, head = _token(found), _head(raw)
    subject = decoded_field(head, "subject")
    # Folding may leave spaces.
    folded = "".join(subject.split())
    # The token alone: automatic replies add words.
    is_wish = "x-apple-unsubscribe" in head or _TOKEN.fullmatch(folded)
    if not named and (is_wish or not _is_automatic(head, raw)):
        named = _token((subject, folded.rpartition(":")[2]))
    return named


def _head(raw: bytes) -> Message:
    return message_from_bytes(re.split(rb"\r?\n\r?\n", raw[:HEAD_BYTES], maxsplit=1)[0] + b"\n\n")


def _token(texts: Iterable[str]) -> str:
    return next((match[1].lower() for text in texts if (match := _TOKEN.search(text))), "")


def _is_automatic(head: Message, raw: bytes) -> bool:
    """Return whether it is an automatic reply or a report."""
    if is_unanswerable(head):
        return True
    try:
        report = read_report(raw)
    except Unreadable:
        return True
    return report.kind is BounceKind.AUTO_REPLY or bool(report.findings)


def take_mail(*, raw: bytes, now: datetime, recipient: str = "") -> Taken:
    """Process a mail to BOUNCE_DOMAIN; `recipient` is the envelope's. Safe to repeat, sends no reply."""
    recipients = recipients_in(raw, domain=settings.BOUNCE_DOMAIN, recipient=recipient)
    for take in mail_takers if recipients else ():
        try:
            if (done := take(raw, recipients, now)) is not None:
                return Taken(READING, done)
        except Refused as error:
            return Taken(READING, f"Refused: {error}", is_refused=True)
    token = leaving(raw, domain=settings.BOUNCE_DOMAIN, recipient=recipient)
    if token is None:
        return take_report(raw=raw, now=now, recipient=recipient)
    try:
        subscription = find(token, UNSUBSCRIBE)
    except TokenError:
        return Taken(LEAVING, "Ignored: it names no subscription.")
    known = subscription.status == Subscription.Status.UNSUBSCRIBED
    leave(subscription=subscription, now=now, by_reader=True)
    said = "Had left already" if known else "Left"
    return Taken(LEAVING, f"{said}: {subscription.subscribable}.", is_new=not known)


def read_bounces(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None
) -> "Counter[str]":
    """Delete old reports, then process mail. Logs errors."""
    prune_bounces(now=clock())
    try:
        return collect_bounces(clock=clock, budget=budget)
    except (SourceError, ImproperlyConfigured) as error:
        log.warning("%s", error)
        return Counter()


def collect_bounces(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> "Counter[str]":
    """Return counts by kind, and "failed". Raises SourceError, ImproperlyConfigured.

    A mail that fails stays in the mailbox and stops no other.
    """
    where = parse_bounce_url(settings.BOUNCE_URL)
    counts: Counter[str] = Counter()
    if where is None:
        return counts
    left = TimeBudget(budget)
    with open_mailbox(where) as source:
        for mail in source.mails():
            if stopping.is_set() or left.is_spent:
                break
            try:
                kind = take_mail(raw=mail.raw, now=clock()).kind
            except (InterfaceError, OperationalError):
                raise
            except Exception:
                log.exception("a bounce could not be taken", extra={"mail": mail.key})
                counts["failed"] += 1
                continue
            source.done(mail)
            counts[kind] += 1
    return counts
