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
"""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import AuthResult

from tests.servers.smtp_protocol import ANYONE, DROP, STALL, Answer, Controller, Received, State

__all__ = ["DROP", "STALL", "Received", "SmtpServer"]


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
