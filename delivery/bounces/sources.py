"""Read returned mail from a Maildir, by IMAP4 (RFC 3501) or by POP3 (RFC 1939).

A mail is marked as read, in POP3 deleted, after it was processed. If the process dies before, it is read
again, and `take_mail` recognizes it.
"""

import imaplib
import poplib
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from common.refused import Refused
from common.transactions import forbid_open_transaction
from delivery.bounces.account import MailAccount
from delivery.bounces.parsing import MAX_MAIL_BYTES

TIMEOUT = 30.0
MOST_MAILS = 500
_LONGEST_LINE = 65_536


class SourceError(Refused):
    """Unreadable mailbox. The message has no password."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Start of a mail, and its name."""

    raw: bytes = field(repr=False)
    key: str


class Source(Protocol):
    """An open mailbox."""

    def mails(self) -> Iterator[Incoming]:
        """Return up to MOST_MAILS unread mails, oldest first. Raises SourceError."""
        ...

    def done(self, mail: Incoming) -> None:
        """Mark as processed. Raises SourceError."""
        ...


@contextmanager
def open_mailbox(where: MailAccount | Path, *, context: ssl.SSLContext | None = None) -> Iterator[Source]:
    """Open the mailbox. Raises SourceError for any problem."""
    if isinstance(where, Path):
        yield Maildir(where)
        return
    forbid_open_transaction()
    context = context or ssl.create_default_context()
    with _in_words(where):
        source = (Imap if where.scheme.startswith("imap") else Pop3)(where, context)
    try:
        yield source
    except BaseException:
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
                        raw = opened_file.read(MAX_MAIL_BYTES)
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
        try:
            # imaplib quotes only the password.
            self.client.login(_quoted(account.user), account.password)
            self._ok(self.client.select(_quoted(account.folder)), f"the folder {account.folder}")
        except BaseException:
            self.abandon()
            raise

    def mails(self) -> Iterator[Incoming]:
        with _in_words(self.account):
            found = self._ok(self.client.uid("SEARCH", "UNSEEN"), "its search")
        uids = (found[0] or b"").split() if found else []
        for uid in (octets.decode("ascii", "replace") for octets in uids[:MOST_MAILS]):
            with _in_words(self.account):
                answer = self.client.uid("FETCH", uid, f"(BODY.PEEK[]<0.{MAX_MAIL_BYTES}>)")
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
        with suppress(Exception):
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
        line = self.file.readline(_LONGEST_LINE)
        if not line:
            raise poplib.error_proto("the connection was closed")
        rest = line
        while not rest.endswith(b"\n"):
            rest = self.file.readline(_LONGEST_LINE)
            if not rest:
                raise poplib.error_proto("the connection was closed")
        return line.strip(b"\r\n"), len(line)


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
        try:
            self.client.user(account.user)
            self.client.pass_(account.password)
        except BaseException:
            self.abandon()
            raise

    def mails(self) -> Iterator[Incoming]:
        with _in_words(self.account):
            listed = self.client.list()[1]
        for line in listed[:MOST_MAILS]:
            match = re.match(rb"(\d{1,9}) (\d{1,12})", line)
            # Larger mails stay: TOP is optional, RETR has no limit.
            if match and int(match[2]) <= 4 * MAX_MAIL_BYTES:
                with _in_words(self.account):
                    lines = self.client.retr(int(match[1]))[1]
                yield Incoming(b"\n".join(lines)[:MAX_MAIL_BYTES], match[1].decode("ascii"))

    def done(self, mail: Incoming) -> None:
        with _in_words(self.account):
            self.client.dele(int(mail.key))

    def close(self) -> None:
        self.client.quit()

    def abandon(self) -> None:
        with suppress(Exception):
            self.client.close()
