"""SMTP server on loopback that keeps messages and sends scripted replies.

with SmtpServer() as server:
settings.EMAIL_URL = server.url
server.answer("rcpt", "450 4.2.0 try later", recipient="a@example.test", times=1)
...
assert server.recipients == ["a@example.test"]

Stages: "connect", "ehlo", "auth", "mail", "rcpt", "data" (the command), "message" (after the final dot) and
"taken" (the same, but the server keeps the message).
A reply is a line, DROP (close the connection without one) or STALL (never reply). A bad "connect" or "ehlo"
has no recipient. Everything is thread-safe.
Inside of tests.servers.smtp_server: aiosmtpd's server with scripted replies.
"""

import asyncio
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cached_property
from types import TracebackType
from typing import Any, Self, cast
from weakref import WeakSet

from aiosmtpd.controller import Controller as AioController
from aiosmtpd.smtp import SMTP, AuthResult

# It logs every line at INFO.
logging.getLogger("mail.log").setLevel(logging.WARNING)
DROP = "(drop)"
STALL = "(stall)"
ANYONE = "*"
__all__ = ["DROP", "STALL", "Received", "SmtpServer"]


@dataclass(frozen=True)
class Received:
    """Received message: envelope, octets, and two options of MAIL."""

    sender: str
    recipient: str
    data: bytes
    connection: int
    at: float
    options: tuple[str, ...] = ()

    @cached_property
    def email(self) -> EmailMessage:
        return message_from_bytes(self.data, policy=policy.default)

    @property
    def subject(self) -> str:
        return str(self.email["Subject"])


@dataclass
class Answer:
    """Scripted reply, used `times` times (None: always)."""

    stage: str
    reply: str
    recipient: str = ANYONE
    times: int | None = None


@dataclass
class State:
    """State shared by the server's thread and the test, under one lock."""

    delay: float = 0.0
    # No message is accepted meanwhile.
    held: bool = False
    # Limit of open connections; further ones get `full` (DROP: nothing) and are closed.
    takes: int | None = None
    full: str = ""
    # Seconds before the reply, by stage.
    slow: dict[str, float] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    messages: list[Received] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most_open: int = 0
    inside: set[int] = field(default_factory=set)
    refused: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)

    def next_answer(self, stage: str, recipient: str) -> str | None:
        with self.changed:
            self.commands.append(stage)
            for answer in self.answers:
                if answer.stage == stage and answer.recipient in (ANYONE, recipient.lower()):
                    return self._use(answer)
            return None

    def _use(self, answer: Answer) -> str:
        if answer.times is not None:
            answer.times -= 1
            if answer.times <= 0:
                self.answers.remove(answer)
        return answer.reply

    def connected(self) -> int:
        with self.changed:
            self.connections += 1
            self.open += 1
            self.most_open = max(self.most_open, self.open)
            return self.connections

    def let_in(self, number: int) -> bool:
        """Return whether there is room for that connection."""
        with self.changed:
            if self.takes is not None and len(self.inside) >= self.takes:
                self.refused += 1
                return False
            self.inside.add(number)
            return True

    def disconnected(self, number: int) -> None:
        with self.changed:
            self.inside.discard(number)
            self.open -= 1
            self.changed.notify_all()

    def took(self, message: Received) -> None:
        with self.changed:
            self.messages.append(message)
            self.changed.notify_all()


class _Protocol(SMTP):
    """aiosmtpd's server, scriptable at the greeting, EHLO, AUTH and DATA too."""

    def __init__(self, state: State, **options: Any) -> None:
        self.state = state
        self.number = 0
        super().__init__(_Handler(state), hostname="mx.example.test", ident="ESMTP", **options)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self.number:
            self.number = self.state.connected()
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.state.disconnected(self.number)
        super().connection_lost(error)

    async def scripted(self, stage: str, recipient: str = "") -> str | None:
        """Return the scripted reply, if any. Never returns if the connection is dropped or stalls."""
        if (seconds := self.state.slow.get(stage)) is not None:
            await asyncio.sleep(seconds)
        reply = self.state.next_answer(stage, recipient)
        if reply == DROP:
            cast(asyncio.Transport, self.transport).close()
        if reply in (DROP, STALL):
            await asyncio.Event().wait()  # aiosmtpd cancels this when the connection ends
        return reply

    async def _handle_client(self) -> None:
        if reply := await self._greeting():
            await self.push(reply)
            cast(asyncio.Transport, self.transport).close()
        else:
            await super()._handle_client()

    async def _greeting(self) -> str | None:
        if self.state.let_in(self.number):
            return await self.scripted("connect")
        if self.state.full != DROP:
            return self.state.full
        cast(asyncio.Transport, self.transport).abort()
        await asyncio.Event().wait()
        return None

    async def smtp_EHLO(self, hostname: str) -> None:
        if reply := await self.scripted("ehlo"):
            await self.push(reply)
        else:
            await super().smtp_EHLO(hostname)

    async def smtp_AUTH(self, arg: str) -> None:
        if reply := await self.scripted("auth"):
            await self.push(reply)
        else:
            await super().smtp_AUTH(arg)

    async def smtp_DATA(self, arg: str) -> None:
        recipients = self.envelope.rcpt_tos if self.envelope else []
        if recipients and (reply := await self.scripted("data", recipients[0])):
            await self.push(reply)
        else:
            await super().smtp_DATA(arg)


class _Handler:
    def __init__(self, state: State) -> None:
        self.state = state

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return [*responses[:-1], "250-PIPELINING", responses[-1]]

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if reply := await server.scripted("mail"):
            return str(reply)
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Ok"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if reply := await server.scripted("rcpt", address):
            return str(reply)
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.state.delay:
            await asyncio.sleep(self.state.delay)
        while self.state.held:
            await asyncio.sleep(0.02)
        for address in envelope.rcpt_tos:
            if reply := await server.scripted("message", address):
                return str(reply)
        for address in envelope.rcpt_tos:
            self.state.took(
                Received(
                    sender=envelope.mail_from,
                    recipient=address,
                    data=bytes(envelope.original_content),
                    connection=server.number,
                    at=time.monotonic(),
                    options=tuple(envelope.mail_options),
                )
            )
        if reply := await server.scripted("taken", envelope.rcpt_tos[0]):
            return str(reply)
        return f"250 2.0.0 Ok: queued as {len(self.state.messages):08X}"


class Controller(AioController):
    def __init__(self, state: State, listener: socket.socket, **options: Any) -> None:
        host, port = listener.getsockname()[:2]
        super().__init__(None, hostname=host, port=port, **options)
        self.state, self.listener = state, listener
        self.made = WeakSet[SMTP]()

    def factory(self) -> SMTP:
        made = _Protocol(self.state, **self.SMTP_kwargs)
        self.made.add(made)
        return made

    def cancel_tasks(self, stop_loop: bool = True) -> None:
        # Since Python 3.12.1 a server waits for its connections before it is closed.
        for each in self.made:
            # The attribute is missing where 3.11.2 has closed a TLS connection.
            with suppress(AttributeError):
                cast(asyncio.Transport, each.transport).abort()
        super().cancel_tasks(stop_loop)

    def _create_server(self) -> Any:
        return self.loop.create_server(self._factory_invoker, sock=self.listener, ssl=self.ssl_context)

    def _trigger_server(self) -> None:
        """Make no connection: the first one must be the test's own."""
        self._factory_invoked.set()
        self.smtpd = self.factory()


class SmtpServer:
    """SMTP server; see the module's docstring.

    `tls` is "", "starttls" or "implicit" and needs a server-side `context`. `login` is the required (user,
    password). `delay` is the number of seconds before each acceptance.
    `takes` limits open connections; further ones get `full` (DROP: nothing) and are closed. `port` 0 picks a
    free port; pass a number to restart at the same one.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        tls: str = "",
        context: ssl.SSLContext | None = None,
        login: tuple[str, str] | None = None,
        utf8: bool = True,
        delay: float = 0.0,
        size_limit: int = 33_554_432,
        takes: int | None = None,
        full: str = "421 4.7.0 Error: too many connections from 127.0.0.1",
    ) -> None:
        self.state = State(delay=delay, takes=takes, full=full)
        self.tls, self.login, self.port = tls, login, port
        self._options: dict[str, Any] = {"enable_SMTPUTF8": utf8, "data_size_limit": size_limit}
        if tls == "implicit":
            self._options["ssl_context"] = context
        elif tls == "starttls":
            self._options |= {"tls_context": context, "require_starttls": True}
        if login:
            self._options |= {"auth_required": True, "auth_require_tls": tls == "starttls"}
            self._options["authenticator"] = self._authenticate
        self._controller: Controller | None = None

    def _authenticate(
        self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any
    ) -> AuthResult:
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self.login, handled=False)

    def start(self) -> Self:
        listener = socket.create_server(("127.0.0.1", self.port))
        # Connections inherit it. Each reply is a write of its own: with Nagle, the second waits 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = listener.getsockname()[1]
        self._controller = Controller(self.state, listener, **self._options)
        self._controller.start()
        return self

    def stop(self) -> None:
        """Close the port and every connection. A second call does nothing."""
        if self._controller:
            self._controller.stop()
            self._controller = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Return the EMAIL_URL of this server."""
        scheme = {"": "smtp", "starttls": "smtp+starttls", "implicit": "smtps"}[self.tls]
        login = f"{self.login[0]}:{self.login[1]}@" if self.login else ""
        return f"{scheme}://{login}127.0.0.1:{self.port}"

    def answer(self, stage: str, reply: str, *, recipient: str = ANYONE, times: int | None = None) -> None:
        """Script the reply at a stage, for one recipient or all, `times` times (None: always)."""
        if stage not in ("connect", "ehlo", "auth", "mail", "rcpt", "data", "message", "taken"):
            raise ValueError(f"no such stage: {stage}")
        with self.state.changed:
            self.state.answers.append(Answer(stage, reply, recipient.lower(), times))

    def hold(self) -> None:
        """Accept no message until `releasing` ends."""
        self.state.held = True

    @contextmanager
    def releasing(self) -> Iterator[None]:
        """Accept what was held at the end of the block, also if it fails."""
        try:
            yield
        finally:
            self.state.held = False

    def forget_answers(self) -> None:
        with self.state.changed:
            self.state.answers.clear()

    @property
    def messages(self) -> list[Received]:
        with self.state.changed:
            return list(self.state.messages)

    @property
    def recipients(self) -> list[str]:
        """Return the recipients of messages in order of arrival, with repeats."""
        return [message.recipient for message in self.messages]

    @property
    def connections(self) -> int:
        """Return the number of connections so far."""
        return self.state.connections

    @property
    def most_open(self) -> int:
        """Return the maximum number of simultaneous connections."""
        return self.state.most_open

    @property
    def commands(self) -> list[str]:
        """Return the stages reached, in order."""
        with self.state.changed:
            return list(self.state.commands)

    def wait_for(self, count: int, timeout: float = 10.0) -> list[Received]:
        """Return the messages once there are `count`. Raises TimeoutError."""
        with self.state.changed:
            if not self.state.changed.wait_for(lambda: len(self.state.messages) >= count, timeout):
                raise TimeoutError(f"{len(self.state.messages)} of {count} messages after {timeout} s")
            return list(self.state.messages)

    def wait_until_idle(self, timeout: float = 5.0) -> None:
        """Wait until no connection is open. Raises TimeoutError."""
        with self.state.changed:
            if not self.state.changed.wait_for(lambda: self.state.open == 0, timeout):
                raise TimeoutError(f"{self.state.open} connections still open after {timeout} s")

    def drop_connections(self) -> None:
        """Close every open connection, as a restart does; accept new ones."""
        controller = self._controller
        assert controller is not None

        def close_all() -> None:
            for task in asyncio.all_tasks(controller.loop):
                task.cancel()

        controller.loop.call_soon_threadsafe(close_all)
        self.wait_until_idle()
