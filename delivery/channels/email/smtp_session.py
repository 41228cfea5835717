"""Sends messages over one SMTP connection at a time, pipelined where the server offers it (RFC 2920)."""

import ssl
from contextlib import suppress
from datetime import datetime

from delivery.channels.base import Ambiguous, Holdup, Outcome, Permanent, Sent, Temporary
from delivery.channels.email.mail_message import MailMessage
from delivery.channels.email.smtp_connection import Connection, Reply, Timeouts, connect
from delivery.channels.email.smtp_replies import CannotConnect, Lost, Stage, outcome_of_reply
from delivery.channels.email.smtp_settings import SmtpSettings
from delivery.rules.meaning import Meaning

MESSAGES_PER_CONNECTION = 100
PATIENT = Timeouts()
_ENVELOPE = (Stage.MAIL, Stage.RCPT, Stage.DATA)
_GO_ON = (250, 250, 354)
_WANTED = {Stage.MAIL: 250, Stage.RCPT: 250, Stage.DATA: 354, Stage.MESSAGE: 250}
_SERVER_GOES = 421


class SmtpSession:
    """Connects at the first message and stays connected. One message at a time."""

    def __init__(
        self,
        target: SmtpSettings,
        *,
        helo: str,
        context: ssl.SSLContext | None = None,
        timeouts: Timeouts = PATIENT,
        messages_per_connection: int = MESSAGES_PER_CONNECTION,
    ) -> None:
        self.target, self.helo, self.context, self.timeouts = target, helo, context, timeouts
        self.messages_per_connection = messages_per_connection
        self.connection: Connection | None = None

    @property
    def is_ready(self) -> bool:
        connection = self.connection
        if connection is None or not connection.wire.is_open:
            return False
        return connection.messages < self.messages_per_connection

    async def open(self) -> Temporary | None:
        """Connects for the next message. Returns the obstacle, if there is one."""
        try:
            await self.ready()
        except CannotConnect as error:
            return Temporary(str(error), stops_lane=True)
        return None

    async def send(self, message: MailMessage, *, now: datetime) -> Outcome:
        """The server's answer as an Outcome; never raises for what a server or a network does."""
        try:
            connection, data = await self.ready(), message.dated(now)
            outcome: Outcome | None = _obstacle(connection, message, data)
            if outcome is None:
                is_kept = connection.messages > 0
                outcome, is_gone = await self._transaction(connection, message, data)
                if is_gone and is_kept:
                    # The server had closed the connection we kept, before it knew of this message. It gets
                    # the message on a new one.
                    connection.wire.abort("closed by the server")
                    outcome, _ = await self._transaction(await self.ready(), message, data)
        except CannotConnect as error:
            return Temporary(str(error), stops_lane=True)
        if not isinstance(outcome, Sent) and self.connection is not None and self.connection.wire.is_open:
            # RSET makes the connection fit for the next message; if it does not, the connection is given up.
            self.connection.wire.say(b"RSET\r\n")
            with suppress(Lost):
                reply = await self.connection.wire.reply(self.timeouts.reply)
                if reply.code != 250:
                    await self.close()
        return outcome

    async def close(self) -> None:
        """Says QUIT and closes; never raises for what a server does."""
        connection, self.connection = self.connection, None
        if connection is None or not connection.wire.is_open:
            return
        connection.wire.say(b"QUIT\r\n")
        try:
            await connection.wire.reply(self.timeouts.quit)
        except Lost:
            return
        connection.wire.abort("done")

    async def ready(self) -> Connection:
        """The connection for the next message, which may be a new one. Raises CannotConnect."""
        if self.connection and self.connection.messages >= self.messages_per_connection:
            await self.close()
        if self.connection is None or not self.connection.wire.is_open:
            self.connection = await connect(
                self.target, helo=self.helo, context=self.context, timeouts=self.timeouts
            )
        return self.connection

    async def _transaction(
        self, connection: Connection, message: MailMessage, data: bytes
    ) -> tuple[Outcome, bool]:
        """The outcome, and whether the server went before it knew of this message."""
        connection.messages += 1
        try:
            refused, stage = await self._envelope(connection, message, len(data))
        except _LostAt as lost:
            return Temporary(str(lost)), lost.stage is Stage.MAIL
        if refused is not None:
            return refused, stage is Stage.MAIL and not connection.wire.is_open
        # Dots are doubled (RFC 5321 §4.5.2).
        if message.has_dots:
            data = data.replace(b"\r\n.", b"\r\n..")
        connection.wire.say(data + (b".\r\n" if data.endswith(b"\r\n") else b"\r\n.\r\n"))
        try:
            reply = await connection.wire.reply(self.timeouts.message)
        except Lost as error:
            text = str(_LostAt(Stage.MESSAGE, error))
            # Only with the final dot gone and no answer come can the server have the message.
            return Ambiguous(text) if error.sent_all else Temporary(text), False
        outcome = _answer(connection, Stage.MESSAGE, reply)
        return outcome or Ambiguous("The mail server gave no answer."), False

    async def _envelope(
        self, connection: Connection, message: MailMessage, size: int
    ) -> tuple[Outcome | None, Stage]:
        """MAIL, RCPT and DATA: the first refusal and its stage; None when the server wants the message."""
        options = f" SIZE={size}" if "size" in connection.features else ""
        # Without SMTPUTF8 the message would not have come so far.
        if "smtputf8" in connection.features and message.needs_utf8:
            options += " SMTPUTF8 BODY=8BITMIME"
        mail = f"MAIL FROM:<{message.sender}>{options}\r\n".encode()
        said = (mail, f"RCPT TO:<{message.recipient}>\r\n".encode(), b"DATA\r\n")
        pipelines = "pipelining" in connection.features
        if pipelines:
            connection.wire.say(b"".join(said))
            await connection.wire.arrival(len(said), self.timeouts.reply)
            # What nearly always comes, and needs no judging.
            if connection.wire.took(_GO_ON):
                return None, Stage.DATA
        for stage, command in zip(_ENVELOPE, said, strict=True):
            if not pipelines:
                connection.wire.say(command)
            refused = _answer(connection, stage, await self._reply(connection, stage))
            if refused is not None:
                if pipelines:
                    await self._rest(connection, stage)
                return refused, stage
        return None, Stage.DATA

    async def _rest(self, connection: Connection, refused: Stage) -> None:
        """Reads the replies to the commands that went out after the refused one."""
        after = list(Stage)[list(Stage).index(refused) + 1 : list(Stage).index(Stage.MESSAGE)]
        try:
            for stage in after:
                reply = await self._reply(connection, stage)
                if stage is Stage.DATA and reply.code == 354:
                    # RFC 2920 §3.1: an empty message, which nobody gets.
                    connection.wire.say(b".\r\n")
                    await self._reply(connection, Stage.MESSAGE)
        except _LostAt:
            return

    async def _reply(self, connection: Connection, stage: Stage) -> Reply:
        try:
            return await connection.wire.reply(self.timeouts.reply)
        except Lost as error:
            raise _LostAt(stage, error) from error


class _LostAt(Exception):
    """The connection ended while the answer to a command was waited for."""

    def __init__(self, stage: Stage, error: Lost) -> None:
        super().__init__(f"The connection was lost at {stage}: {error}.")
        self.stage = stage


def _obstacle(connection: Connection, message: MailMessage, data: bytes) -> Permanent | Temporary | None:
    """What the server said at EHLO that it cannot take."""
    if "smtputf8" not in connection.features and message.needs_utf8:
        return Permanent("The mail server cannot send to addresses with letters like these (no SMTPUTF8).")
    limit = connection.features.get("size", "")
    if limit.isascii() and limit.isdigit() and 0 < int(limit[:18]) < len(data):
        text = f"{Holdup.LETTER}: it has {len(data)} octets, and the mail server takes {limit} at most."
        return Temporary(text, holdup=Holdup.LETTER, meaning=Meaning.SIZE)
    return None


def _answer(connection: Connection, stage: Stage, reply: Reply) -> Outcome | None:
    if reply.code == _WANTED[stage]:
        return None if stage is not Stage.MESSAGE else outcome_of_reply(stage, reply.code, reply.text)
    outcome = outcome_of_reply(stage, reply.code, reply.text)
    # 421 announces that the server closes; an answer that is no SMTP leaves us out of step.
    is_refusal = 400 <= reply.code < 600 and reply.code != _SERVER_GOES
    if not (outcome is None or isinstance(outcome, Sent) or is_refusal):
        connection.wire.abort("out of step")
    return outcome
