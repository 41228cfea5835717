"""Non-blocking SMTP connection."""

import asyncio
import ipaddress
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf
from operator import itemgetter, ne
from typing import cast

from django.conf import settings

from channels.email.smtp_addresses import open_socket, remember
from channels.email.smtp_login import IMPLICIT, STARTTLS, SmtpSettings, log_in
from channels.email.smtp_replies import NO_SMTP, CannotConnect, Lost, Reply, cause_of, reason, reply_words
from channels.rules.trials import Cause

MAX_REPLY = 65_536
# More than any command has.
MOST_UNREAD = 100
# Three of four replies are the same for all messages.
_USUAL = {
    line: Reply(int(line[:3]), line[4:])
    for line in (
        *(b"250 2.1.0 Ok", b"250 2.1.5 Ok", b"354 End data with <CR><LF>.<CR><LF>", b"250 Ok", b"250 OK"),
        *(b"250 2.0.0 Ok", b"354 Go ahead", b"354 Start mail input; end with <CRLF>.<CRLF>"),
    )
}


def helo_name() -> str:
    """Return a name or an address literal (RFC 5321 §4.1.3)."""
    try:
        address = ipaddress.ip_address(settings.SITE_HOST)
    except ValueError:
        return str(settings.SITE_HOST)
    return f"[{address}]" if address.version == 4 else f"[IPv6:{address}]"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds, as recommended in RFC 5321 §4.5.3.2.

    `connect` is per address and for TLS. `message` is for the reply to the final dot, where giving up early
    sends the message twice.
    """

    connect: float = 10
    reply: float = 300
    message: float = 600
    quit: float = 2


code_of = itemgetter(0)


class Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._unread, self._lines, self._size = b"", list[bytes](), 0
        self.replies: deque[Reply] = deque()
        self._waiter: asyncio.Future[None] | None = None
        # Called instead, while a run of messages goes on.
        self._listener: Callable[[], None] | None = None
        self._wanted, self._deadline, self._seconds = 1, 0.0, 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._lost = ""
        self._all_has_left = True
        self.was_silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not a subclass of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        # Makes asyncio report unsent data. TLS pauses at the limit, TCP above it.
        self._transport.set_write_buffer_limits(high=1)

    def pause_writing(self) -> None:
        self._all_has_left = False

    def resume_writing(self) -> None:
        self._all_has_left = True

    def connection_lost(self, error: Exception | None) -> None:
        self._end(reason(error) if error else "the server closed the connection")

    def data_received(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        before = len(self.replies)
        for line in lines:
            line = line.rstrip(b"\r")
            if not self._lines and line in _USUAL:
                self.replies.append(_USUAL[line])
                continue
            # Some servers send a blank line before a reply.
            if not line.strip():
                continue
            code, more = line[:3], line[3:4] == b"-"
            self._size += len(line)
            if not (code.isdigit() and len(code) == 3 and (more or line[3:4] in (b" ", b""))):
                self.replies.append(Reply(NO_SMTP, line))
            elif more:
                self._lines.append(line[4:].strip())
                continue
            else:
                self.replies.append(Reply(int(code), b"\n".join([*self._lines, line[4:].strip()])))
            self._lines, self._size = [], 0
        if self._size + len(self._unread) > MAX_REPLY or len(self.replies) > MOST_UNREAD:
            self.replies.append(Reply(NO_SMTP, b"(a reply without an end)"))
            self.abort("its reply never ended")
        if self.has(self._wanted):
            self._wake()
        elif len(self.replies) > before:
            # Each command has its own timeout (RFC 5321 §4.5.3.2), also if several were sent together.
            self._deadline = self._loop.time() + self._seconds

    @property
    def is_open(self) -> bool:
        return not self._lost

    def has(self, number: int) -> bool:
        """Check for this many replies, or a last one: none follows 354."""
        return len(self.replies) >= number or any(reply.code != 250 for reply in self.replies)

    def say(self, octets: bytes) -> None:
        """Send octets; a failure shows at the next reply."""
        if self._transport is not None and not self._lost:
            self._transport.write(octets)

    async def reply(self, seconds: float) -> Reply:
        """Return it, complete within `seconds`. Raises Lost."""
        if not self.replies:
            await self.arrival(1, seconds)
        if not self.replies:
            raise Lost(self._lost, sent_all=self._all_has_left)
        return self.replies.popleft()

    def took(self, codes: Sequence[int]) -> bool:
        """Consume the pending replies if these are their codes."""
        if len(self.replies) != len(codes) or any(map(ne, codes, map(code_of, self.replies))):
            return False
        self.replies.clear()
        return True

    async def arrival(self, number: int, seconds: float) -> None:
        """Wait for this many replies, a refusal, or the loss of the connection.

        Aborts if one reply takes longer than `seconds`.
        """
        if self._lost or self.has(number):
            return
        self.expect(number, seconds)
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter, self._wanted = None, 1

    def listen(self, listener: Callable[[], None] | None) -> None:
        """Call it when what is expected has arrived, or the connection is lost. None: no more."""
        self._listener, self._wanted = listener, 1

    def expect_nothing(self) -> None:
        self._wanted, self._deadline = 0, inf

    def expect(self, number: int, seconds: float) -> None:
        """Expect this many replies, or a refusal, each within `seconds`."""
        self._wanted, self._seconds = number, seconds
        self._deadline = self._loop.time() + seconds
        if self._timer is None:
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_time)
        elif self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_time)

    def _look_at_the_time(self) -> None:
        """One timer serves many replies: setting it costs more than a reply."""
        self._timer = None
        if self._deadline == inf or (self._waiter is None and self._listener is None) or self._lost:
            return
        if self._loop.time() >= self._deadline:
            self.was_silent = True
            self.abort("it didn’t answer in time")
        else:
            self._timer = self._loop.call_at(self._deadline, self._look_at_the_time)

    async def encrypt(self, context: ssl.SSLContext, host: str, seconds: float) -> None:
        """Raises OSError."""
        # RFC 3207 §4.2: discard what arrived unencrypted, which an attacker could have injected.
        self._unread, self._lines, self._size = b"", [], 0
        self.replies.clear()
        assert self._transport is not None  # noqa: S101 - for the type checker
        transport = await self._loop.start_tls(
            self._transport, self, context, server_hostname=host, ssl_handshake_timeout=seconds
        )
        if transport is None:
            raise ConnectionResetError("the server closed the connection")
        self.connection_made(transport)

    def abort(self, why: str) -> None:
        self._end(why)
        if self._transport is not None:
            self._transport.abort()

    def _end(self, why: str) -> None:
        self._lost = self._lost or why
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake()

    def _wake(self) -> None:
        if self._listener is not None:
            self._listener()
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@dataclass(slots=True)
class Connection:
    """Greeted connection and its features (RFC 1869)."""

    wire: Wire
    features: dict[str, str]
    login: Reply | None = None
    messages: int = 0


async def connect(
    target: SmtpSettings, *, helo: str, context: ssl.SSLContext | None, timeouts: Timeouts
) -> Connection:
    where = f"The mail server {target.name}"
    opening = _Opening(target, helo, context or _usual_context(), timeouts)
    try:
        return await opening.established()
    except Lost as error:
        text = f"{where} closed the connection before accepting anything: {error}"
        raise CannotConnect(text, cause_of(error), str(error)) from error
    except (OSError, UnicodeError) as error:
        words = reason(error)
        raise CannotConnect(f"{where} can’t be reached: {words}", cause_of(error), words) from error


@lru_cache(maxsize=1)
def _usual_context() -> ssl.SSLContext:
    """Reading the certificates takes longer than a hundred messages."""
    return ssl.create_default_context()


class _Opening:
    def __init__(self, target: SmtpSettings, helo: str, context: ssl.SSLContext, timeouts: Timeouts) -> None:
        self.target, self.helo, self.context, self.timeouts = target, helo, context, timeouts

    async def established(self) -> Connection:
        target = self.target
        opened, address = await open_socket(target.host, target.port, self.timeouts.connect)
        try:
            wire, features = await self._greeted(opened)
        except BaseException:
            remember(target.host, target.port, address, answers=False)
            raise
        remember(target.host, target.port, address, answers=True)
        try:
            login = await self._log_in(wire, features) if target.user else None
        except BaseException:
            wire.abort("not used")
            raise
        return Connection(wire, features, login)

    async def _greeted(self, opened: socket.socket) -> tuple[Wire, dict[str, str]]:
        target, is_implicit = self.target, self.target.security == IMPLICIT
        async with asyncio.timeout(self.timeouts.connect):
            _, wire = await asyncio.get_running_loop().create_connection(
                Wire,
                sock=opened,
                ssl=self.context if is_implicit else None,
                server_hostname=target.host if is_implicit else None,
            )
        try:
            # The server speaks first.
            self._expect(await wire.reply(self.timeouts.reply), 220)
            features = await self._introduced(wire)
            if target.security == STARTTLS:
                if "starttls" not in features:
                    raise CannotConnect(
                        f"{target.name} doesn’t offer STARTTLS. Use smtps:// (“Email set-up”, or EMAIL_URL).",
                        Cause.NO_STARTTLS,
                    )
                self._expect(await self._command(wire, "STARTTLS"), 220)
                await wire.encrypt(self.context, target.host, self.timeouts.connect)
                features = await self._introduced(wire)
        except BaseException:
            wire.abort("not used")
            raise
        return wire, features

    async def _introduced(self, wire: Wire) -> dict[str, str]:
        """Return keyword in lower case → parameters.

        HELO only if EHLO is unknown; other refusals concern us.
        """
        reply = await self._command(wire, f"EHLO {self.helo}")
        if reply.code in (500, 502, 504):
            reply = await self._command(wire, f"HELO {self.helo}")
            self._expect(reply, 250)
            return {}
        self._expect(reply, 250)
        features: dict[str, str] = {}
        # The first line is the server's name.
        for line in reply.text.decode("ascii", "replace").split("\n")[1:]:
            # Some write AUTH=PLAIN, from an old draft.
            keyword, _, parameters = line.replace("=", " ", 1).partition(" ")
            known = features.get(keyword.lower(), "")
            features[keyword.lower()] = f"{known} {parameters}".strip()
        return features

    async def _log_in(self, wire: Wire, features: dict[str, str]) -> Reply:
        return await log_in(
            self.target,
            offered=features.get("auth", "").upper().split(),
            is_encrypted=self.target.security in (STARTTLS, IMPLICIT),
            ask=partial(self._command, wire),
        )

    async def _command(self, wire: Wire, line: str) -> Reply:
        wire.say(f"{line}\r\n".encode())
        return await wire.reply(self.timeouts.reply)

    def _expect(self, reply: Reply, code: int) -> None:
        if reply.code != code:
            said = reply_words(reply.code, reply.text)
            text = f"The mail server {self.target.name} isn’t ready: {said}"
            raise CannotConnect(text, Cause.NOT_READY, said)
