"""SMTP session, pipelined if the server offers it (RFC 2920)."""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from channels.base import Ambiguous, Holdup, MessageSource, Outcome, Permanent, Sent, Temporary
from channels.email.mail_message import MailMessage
from channels.email.smtp_connection import Connection, Timeouts, connect
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_replies import CannotConnect, Lost, Reply, Stage, outcome_of_reply, reply_words
from channels.rules.meaning import Meaning
from channels.rules.trials import Cause

log = logging.getLogger(__name__)

MESSAGES_PER_CONNECTION = 100
# Then a server may have given up.
ANNOUNCED_FOR = 5.0
PATIENT = Timeouts()
_ENVELOPE = (Stage.MAIL, Stage.RCPT, Stage.DATA)
_GO_ON = (250, 250, 354)
_WANTED = {Stage.MAIL: 250, Stage.RCPT: 250, Stage.DATA: 354, Stage.MESSAGE: 250}
_SERVER_GOES = 421
CUT_OFF = "it didn’t answer before this worker had to stop"
# They offer PIPELINING but fail on a command after a message.
_ONE_AT_A_TIME: set[tuple[str, int]] = set()


@dataclass(frozen=True, slots=True)
class _Announced:
    """Its envelope is already sent; `said_at` is monotonic."""

    message: MailMessage
    data: bytes
    said_at: float


class SmtpSession:
    """Connects at the first message. One message at a time."""

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
        self.announced: _Announced | None = None
        # Its text was sent.
        self.unanswered: MailMessage | None = None
        self._is_cut_off = False

    @property
    def is_ready(self) -> bool:
        connection, announced = self.connection, self.announced
        if connection is None or not connection.wire.is_open:
            return False
        if announced is not None and time.monotonic() - announced.said_at > ANNOUNCED_FOR:
            return False
        return connection.messages < self.messages_per_connection

    async def open(self) -> Temporary | None:
        try:
            await self.ready()
        except CannotConnect as error:
            return Temporary(str(error), stops_lane=True)
        return None

    async def send(
        self,
        message: MailMessage,
        *,
        now: datetime,
        following: Callable[[], MailMessage | None] | None = None,
    ) -> Outcome:
        """Never raises for server or network errors.

        RFC 2920 §3.1: the next envelope may be sent with the end of a message. `following` is called for that
        message just before this one is sent, and it must be passed to `send` next. Only its envelope is sent
        early.
        """
        if self.unanswered is message and self.connection is not None:
            return await self._settled(await self._reply_to_text(self.connection))
        announced = self.announced
        if announced is not None and announced.message is not message:
            await self.close()
            announced = None
        try:
            connection = await self.ready()
            # A new connection knows nothing of it.
            announced, self.announced = self.announced, None
            data = announced.data if announced else message.dated(now)
            outcome: Outcome | None = None if announced else _obstacle(connection, message, data)
            if outcome is None:
                is_kept = connection.messages > 0
                outcome, is_gone = await self._transaction(
                    connection,
                    message,
                    data,
                    is_announced=announced is not None,
                    following=following,
                    now=now,
                )
                if is_gone and is_kept:
                    # The server had closed it before it knew of this message.
                    connection.wire.abort("closed by the server")
                    connection = await self.ready()
                    outcome, _ = await self._transaction(connection, message, data)
        except CannotConnect as error:
            return Temporary(str(error), stops_lane=True)
        except Exception:
            # A defect of ours: the server may take what follows for the text.
            if self.connection is not None:
                self.connection.wire.abort("sending failed")
            raise
        return await self._settled(outcome)

    async def _settled(self, outcome: Outcome) -> Outcome:
        # After a refusal at its end, the next envelope may have begun.
        connection = self.connection if self.announced is None else None
        if not isinstance(outcome, Sent) and connection is not None and connection.wire.is_open:
            connection.wire.say(b"RSET\r\n")
            with suppress(Lost):
                reply = await connection.wire.reply(self.timeouts.reply)
                if reply.code != 250:
                    await self.close()
        return outcome

    async def close(self) -> None:
        """Send QUIT; server errors are never raised."""
        connection, self.connection = self.connection, None
        announced, self.announced = self.announced, None
        if connection is None or not connection.wire.is_open:
            return
        if announced is not None:
            # QUIT would be a line of the text. An unfinished message is discarded.
            connection.wire.abort("what was announced is not sent")
            return
        connection.wire.say(b"QUIT\r\n")
        try:
            await connection.wire.reply(self.timeouts.quit)
        except Lost:
            return
        connection.wire.abort("done")

    def cut_off(self) -> None:
        self._is_cut_off = True
        if self.connection is not None:
            self.connection.wire.abort(CUT_OFF)

    async def ready(self) -> Connection:
        if self._is_cut_off:
            raise CannotConnect(CUT_OFF, Cause.CLOSED)
        if self.connection is not None and not self.is_ready:
            await self.close()
        if self.connection is None:
            self.connection = await connect(
                self.target, helo=self.helo, context=self.context, timeouts=self.timeouts
            )
        return self.connection

    async def _transaction(
        self,
        connection: Connection,
        message: MailMessage,
        data: bytes,
        *,
        is_announced: bool = False,
        following: Callable[[], MailMessage | None] | None = None,
        now: datetime | None = None,
    ) -> tuple[Outcome, bool]:
        """Return the outcome, and whether the server left before it knew of this message."""
        connection.messages += 1
        try:
            refused, stage = await self._envelope(connection, message, len(data), is_announced)
        except _LostAt as lost:
            if is_announced and connection.wire.was_silent:
                self.announce_no_more(str(lost))
            return Temporary(str(lost)), lost.stage is Stage.MAIL
        if refused is not None:
            if is_announced and stage is Stage.MAIL and connection.wire.is_open:
                # Perhaps only because it came together with a message.
                self.announce_no_more(refused)
                return refused, True
            return refused, stage is Stage.MAIL and not connection.wire.is_open
        self.say_text(connection, message, data, following, now)
        return await self._reply_to_text(connection), False

    def say_text(
        self,
        connection: Connection,
        message: MailMessage,
        data: bytes,
        following: Callable[[], MailMessage | None] | None,
        now: datetime | None,
    ) -> None:
        # Dots are doubled (RFC 5321 §4.5.2).
        if message.has_dots:
            data = data.replace(b"\r\n.", b"\r\n..")
        next_envelope = self._announce(connection, following, now) if following and now else b""
        end = b".\r\n" if data.endswith(b"\r\n") else b"\r\n.\r\n"
        self.unanswered = message
        connection.wire.say(b"".join((data, end, next_envelope)))

    async def _reply_to_text(self, connection: Connection) -> Outcome:
        self.unanswered = None
        try:
            reply = await connection.wire.reply(self.timeouts.message)
        except Lost as error:
            text = str(_LostAt(Stage.MESSAGE, error))
            # Only with the final dot sent and no answer can the server have the message. The unsent part may
            # be the next envelope.
            is_unknown = error.sent_all or self.announced is not None
            return Ambiguous(text) if is_unknown else Temporary(text)
        outcome = _answer(connection, Stage.MESSAGE, reply)
        return outcome or Ambiguous("The mail server sent no response.")

    def stream(self, source: MessageSource) -> "SmtpStream":
        return SmtpStream(self, source)

    def _announce(
        self, connection: Connection, following: Callable[[], MailMessage | None], now: datetime
    ) -> bytes:
        is_last = connection.messages >= self.messages_per_connection
        if is_last or "pipelining" not in connection.features or self._server in _ONE_AT_A_TIME:
            return b""
        message = following()
        if message is None:
            return b""
        data = message.dated(now)
        if _obstacle(connection, message, data) is not None:
            return b""
        self.announced = _Announced(message, data, time.monotonic())
        return b"".join(_commands(connection, message, len(data)))

    def announce_no_more(self, why: object) -> None:
        log.info("%s is sent a message's metadata only after the previous message: %s", self.target.name, why)
        _ONE_AT_A_TIME.add(self._server)

    @property
    def _server(self) -> tuple[str, int]:
        return self.target.host, self.target.port

    async def _envelope(
        self, connection: Connection, message: MailMessage, size: int, is_announced: bool
    ) -> tuple[Outcome | None, Stage]:
        """Return the first refusal, or None, and its stage."""
        said = _commands(connection, message, size)
        pipelines = "pipelining" in connection.features
        if pipelines:
            if not is_announced:
                connection.wire.say(b"".join(said))
            await connection.wire.arrival(len(said), self.timeouts.reply)
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
        """Read the replies after the refused command."""
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


class SmtpStream:
    """Sends announced messages in a row, by callback, while the replies are the usual ones.

    At anything else `ended` is done, and `SmtpSession.send` continues where it stopped.
    """

    def __init__(self, session: SmtpSession, source: MessageSource) -> None:
        assert session.connection is not None  # noqa: S101 - for the type checker
        self.ended = asyncio.get_running_loop().create_future()
        self._session, self._source, self._connection = session, source, session.connection
        self._wire = session.connection.wire
        # Of the replies it waits for: DATA (an envelope's) or MESSAGE. None: it waits for `go_on`.
        self._stage: Stage | None = None
        self._wire.listen(self._hear)
        self.go_on()

    def go_on(self) -> None:
        """Send the announced message: the last outcome is durable."""
        if self._session.announced is None or not self._session.is_ready:
            self._end()
            return
        self._stage = Stage.DATA
        self._wire.expect(len(_GO_ON), self._session.timeouts.reply)
        self._hear()

    def _hear(self) -> None:
        try:
            if self._stage is not None:
                self._step()
        except Exception:  # a defect of ours, which `send` meets again, or a text with an unknown end
            log.exception("sending failed")
            self._end()
            self._wire.abort("sending failed")

    def _step(self) -> None:
        wire = self._wire
        if self._stage is Stage.MESSAGE:
            if wire.replies and wire.replies[0].code == 250:
                self._session.unanswered, self._stage = None, None
                wire.expect_nothing()
                self._source.accepted(Sent(remote_id=reply_words(250, wire.replies.popleft().text)[:255]))
            elif wire.replies or not wire.is_open:
                self._end()
        elif not wire.is_open:
            if wire.was_silent:
                self._session.announce_no_more("it didn’t answer in time")
            self._end()
        elif wire.has(len(_GO_ON)):
            if self._source.may_begin() and wire.took(_GO_ON):
                self._say_text()
            else:
                self._end()

    def _say_text(self) -> None:
        session, announced = self._session, self._session.announced
        assert announced is not None  # noqa: S101 - for the type checker
        session.announced, self._stage = None, Stage.MESSAGE
        self._connection.messages += 1
        self._source.begin()
        session.say_text(
            self._connection, announced.message, announced.data, self._source.following, self._source.now()
        )
        self._wire.expect(1, session.timeouts.message)

    def _end(self) -> None:
        self._wire.listen(None)
        if not self.ended.done():
            self.ended.set_result(None)


class _LostAt(Exception):
    def __init__(self, stage: Stage, error: Lost) -> None:
        super().__init__(f"The connection was lost at {stage}: {error}.")
        self.stage = stage


def _obstacle(connection: Connection, message: MailMessage, data: bytes) -> Permanent | Temporary | None:
    if "smtputf8" not in connection.features and message.needs_utf8:
        return Permanent(
            "The mail server can’t send to addresses with international characters (no SMTPUTF8)."
        )
    limit = connection.features.get("size", "")
    if limit.isascii() and limit.isdigit() and 0 < int(limit[:18]) < len(data):
        text = f"{Holdup.LETTER}: it has {len(data)} bytes, and the mail server accepts at most {limit}."
        return Temporary(text, holdup=Holdup.LETTER, meaning=Meaning.SIZE)
    return None


def _commands(connection: Connection, message: MailMessage, size: int) -> tuple[bytes, bytes, bytes]:
    options = f" SIZE={size}" if "size" in connection.features else ""
    # Without SMTPUTF8 the message was already refused.
    if "smtputf8" in connection.features and message.needs_utf8:
        options += " SMTPUTF8 BODY=8BITMIME"
    mail = f"MAIL FROM:<{message.sender}>{options}\r\n".encode()
    return mail, f"RCPT TO:<{message.recipient}>\r\n".encode(), b"DATA\r\n"


def _answer(connection: Connection, stage: Stage, reply: Reply) -> Outcome | None:
    if reply.code == _WANTED[stage]:
        return None if stage is not Stage.MESSAGE else outcome_of_reply(stage, reply.code, reply.text)
    outcome = outcome_of_reply(stage, reply.code, reply.text)
    # 421 announces a close; an invalid reply is out of step.
    is_refusal = 400 <= reply.code < 600 and reply.code != _SERVER_GOES
    if not (outcome is None or isinstance(outcome, Sent) or is_refusal):
        connection.wire.abort("out of step")
    return outcome
