"""Sends messages: over one SMTP connection at a time, or into the mailbox."""

import ssl
from datetime import datetime

from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.channels.email.answers import Stage, judge
from delivery.channels.email.connection import Connection, Timeouts
from delivery.channels.email.failures import CannotConnect, Lost
from delivery.channels.email.message import MailMessage
from delivery.channels.email.transport import SmtpSettings

MESSAGES_PER_CONNECTION = 100
PATIENT = Timeouts()


class SmtpSession:
    """Connects at the first message and stays connected. Used by one thread at a time."""

    def __init__(
        self,
        target: SmtpSettings,
        *,
        helo: str,
        context: ssl.SSLContext | None = None,
        timeouts: Timeouts = PATIENT,
    ) -> None:
        self.target, self.helo, self.context, self.timeouts = target, helo, context, timeouts
        self._connection: Connection | None = None

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        """The server's answer as an Outcome. `key` and `begun_at` are of no use to SMTP: the Message-ID
        is the key, and nobody can be asked what became of an earlier attempt."""
        try:
            connection = self._ready()
            outcome = self._deliver(connection, message, message.dated(now))
        except CannotConnect as error:
            return Temporary(str(error), stops_lane=True)
        if not isinstance(outcome, Sent):
            self._recover()
        return outcome

    def close(self) -> None:
        if self._connection:
            self._connection.leave()
            self._connection = None

    def _ready(self) -> Connection:
        if self._connection and self._connection.messages >= MESSAGES_PER_CONNECTION:
            self.close()
        if self._connection is None or self._connection.sock is None:
            self._connection = Connection(
                self.target, helo=self.helo, context=self.context, timeouts=self.timeouts
            )
        return self._connection

    def _deliver(self, connection: Connection, message: MailMessage, data: bytes) -> Outcome:
        obstacle = _obstacle(connection, message, data)
        if obstacle:
            return obstacle
        connection, refused = self._begin(connection, message, len(data))
        return refused or _transfer(connection, message.recipient, data)

    def _begin(
        self, connection: Connection, message: MailMessage, size: int
    ) -> tuple[Connection, Outcome | None]:
        """MAIL; once more on a new connection where the server had closed the one we kept."""
        kept = connection.messages > 0
        connection.messages += 1
        refused, gone = _mail(connection, message, size)
        if gone and kept:
            connection.close()
            connection = self._ready()
            connection.messages += 1
            refused, _ = _mail(connection, message, size)
        return connection, refused

    def _recover(self) -> None:
        """Makes the connection fit for the next message, or gives it up."""
        connection = self._connection
        if connection is None or connection.sock is None:
            return
        try:
            code, _ = connection.rset()
        except Lost:
            return
        if code != 250:
            connection.leave()


def _obstacle(connection: Connection, message: MailMessage, data: bytes) -> Permanent | None:
    """What the server said at EHLO that it cannot take."""
    if message.needs_utf8 and not connection.has_extn("smtputf8"):
        return Permanent("The mail server cannot send to addresses with letters like these (no SMTPUTF8).")
    limit = connection.esmtp_features.get("size", "")
    if limit.isascii() and limit.isdigit() and 0 < int(limit[:18]) < len(data):
        return Permanent(f"The letter has {len(data)} octets; the mail server takes {limit} at most.")
    return None


def _mail(connection: Connection, message: MailMessage, size: int) -> tuple[Outcome | None, bool]:
    """MAIL FROM. The second part: whether the server is gone, before it knew of this message."""
    command = f"FROM:<{message.sender}>"
    if connection.has_extn("size"):
        command += f" SIZE={size}"
    if message.needs_utf8:
        command += " SMTPUTF8 BODY=8BITMIME"
    try:
        code, text = connection.docmd("MAIL", command)
    except Lost as error:
        return _lost(Stage.MAIL, error), True
    return _answer(connection, Stage.MAIL, code, text), code == 421


def _transfer(connection: Connection, recipient: str, data: bytes) -> Outcome:
    """RCPT, DATA and the message."""
    stage = Stage.RCPT
    try:
        outcome = _answer(connection, stage, *connection.docmd("RCPT", f"TO:<{recipient}>"))
        if outcome is None:
            stage = Stage.DATA
            outcome = _answer(connection, stage, *connection.docmd("DATA"))
        if outcome is None:
            stage = Stage.MESSAGE
            outcome = _answer(connection, stage, *connection.send_message_data(data))
    except Lost as error:
        return _lost(stage, error)
    return outcome or Ambiguous("The mail server gave no answer.")


def _answer(connection: Connection, stage: Stage, code: int, text: bytes) -> Outcome | None:
    outcome = judge(stage, code, text)
    # 421 announces that the server closes; what is no SMTP leaves us out of step.
    is_refusal = 400 <= code < 600 and code != 421
    if not (outcome is None or isinstance(outcome, Sent) or is_refusal):
        connection.close()
    return outcome


def _lost(stage: Stage, error: Lost) -> Outcome:
    text = f"The connection was lost at {stage}: {error}."
    # Only with the final dot gone and no answer come can the server have the message.
    if stage is Stage.MESSAGE and error.sent_all:
        return Ambiguous(text)
    return Temporary(text)


class MailboxSession:
    """Keeps every message, for the mailbox page."""

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        return Sent(stored=message.dated(now))

    def close(self) -> None:
        """Nothing is open."""


class UnusableSession:
    """Stands for a server that the settings do not name rightly: everything waits, and says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def send(self, message: MailMessage, *, key: str, begun_at: datetime | None, now: datetime) -> Outcome:
        return Temporary(self.reason, stops_lane=True)

    def close(self) -> None:
        """Nothing is open."""
